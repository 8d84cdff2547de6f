{#- A table's key: no two rows agree in all `columns`; nulls count as equal. -#}
{% test unique_key(model, columns) %}
select {{ columns | join(", ") }}, count(*) as copies
from {{ model }}
group by {{ columns | join(", ") }}
having count(*) > 1
{% endtest %}
