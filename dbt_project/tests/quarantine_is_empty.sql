-- Nothing is in quarantine: every body that was recorded is built, or somebody has dropped it.
{{ config(severity='warn', meta={'dagster': {'ref': {'name': 'quarantined_bodies'}}}) }}
select * from {{ ref('quarantined_bodies') }}
where state <> 'dropped'
