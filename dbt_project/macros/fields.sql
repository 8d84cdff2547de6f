{#- How raw values of the venues become numbers, times and names. A value outside of its domain is null and is counted,
    with its row (`reject`) if the row is of no use without it, otherwise by itself (`outside`); a value that the venue
    left out is null and is not counted unless it is required. No other cast of a raw value is allowed in
    staging: tests/dbt_project/staging/test_fields.py. -#}

{#- The plausible domains, bounds included. A bound lies far beyond what any market has shown and close enough to keep a
    product of two fields finite; what is wrong within the bounds is for the comparison between venues to find. -#}
{% macro domains() %}
    {{ return({
        "time_ms": {"least": 1230768000000, "most": 4102444800000,
            "reason": "2009-01-01, the month of the first bitcoin block, to 2100-01-01: option expiries and delistings lie in the future"},
        "price": {"least": 1e-18, "most": 1e12,
            "reason": "tokens of 1e15 units trade near 1e-12 BTC; one bitcoin is about 2e9 rupiah"},
        "size": {"least": 0, "most": 1e21,
            "reason": "the largest supplies are about 1e15 tokens, traded up to some thousand times a day"},
        "signed_size": {"least": -1e21, "most": 1e21,
            "reason": "as size; a short position is negative"},
        "amount": {"least": 0, "most": 1e18,
            "reason": "all won markets together trade about 1e13 KRW a day"},
        "contract_size": {"least": 1e-12, "most": 1e12,
            "reason": "contracts are 0.0001 to 10,000,000 units"},
        "hours": {"least": 0.5, "most": 24,
            "reason": "no venue settles funding more often than hourly or less often than daily"},
        "fraction": {"least": 0, "most": 1,
            "reason": "a share of a whole"},
        "iv": {"least": 1e-4, "most": 50,
            "reason": "quotes of options that expire within the day reach several thousand percent"},
        "balance": {"least": -1e15, "most": 1e15,
            "reason": "profits and account values in USD, which may be negative"},
        "leverage": {"least": 0, "most": 1000,
            "reason": "no venue offers more"},
    }) }}
{% endmacro %}

{#- A number from the text `raw`, as a field of `read` and `measured`. `template` converts the unit: `{}` is the number, and
    the domain is that of the result. `zero`: "none" if the venue writes 0 or -1 for no value, "kept" if 0 is to stay 0 outside
    of the domain, otherwise it is a value like any other. -#}
{% macro number(raw, domain, template="{}", zero="value", limits=none) %}
    {%- set bounds = limits or domains()[domain] -%}
    {%- set least = 0 if zero == "kept" else 1e-18 if zero == "none" and bounds.least == 0 else bounds.least -%}
    {{ return({"raw": raw, "parse": "try_cast({} as double)", "value": template, "least": least,
        "most": bounds.most, "none_is_number": zero == "none"}) }}
{% endmacro %}

{#- A price in the quote currency. -#}
{% macro price(raw, template="{}", zero="value") %}{{ return(number(raw, "price", template, zero)) }}{% endmacro %}
{#- A size: coins, units of the symbol or contracts. -#}
{% macro size(raw, template="{}") %}{{ return(number(raw, "size", template)) }}{% endmacro %}
{#- An amount of the quote currency, or of USD. -#}
{% macro amount(raw, template="{}") %}{{ return(number(raw, "amount", template)) }}{% endmacro %}
{% macro contract_size(raw, template="{}") %}{{ return(number(raw, "contract_size", template, zero="none")) }}{% endmacro %}
{% macro hours(raw, template="{}") %}{{ return(number(raw, "hours", template, zero="none")) }}{% endmacro %}
{% macro fraction(raw, template="{}") %}{{ return(number(raw, "fraction", template)) }}{% endmacro %}
{% macro iv(raw, template="{}") %}{{ return(number(raw, "iv", template, zero="none")) }}{% endmacro %}
{% macro balance(raw) %}{{ return(number(raw, "balance")) }}{% endmacro %}

{#- A funding rate per interval; `most` is the venue's limit, where it has one for all of its markets. Elsewhere limits
    differ by market and are raised in turmoil: the highest in recorded instrument lists is 0.03. -#}
{% macro rate(raw, template="{}", most=0.1) %}{{ return(number(raw, "rate", template, limits={"least": -most, "most": most})) }}{% endmacro %}

{#- For how long after its receipt a past time may lie: the venue's clock against the recorder's. -#}
{% macro clock_tolerance_ms() %}{{ return(300000) }}{% endmacro %}

{#- Whether a row's time `closed_ms` lies at most a day before its receipt. A row without a plausible time passes, to be
    rejected. -#}
{% macro is_of_the_last_day(closed_ms) -%}({{ closed_ms }} < received_ms - 86400000) is not true{%- endmacro %}

{#- A time as UTC epoch ms, from an integer of this unit; 0 and -1 are no time. A `past` time lies before its receipt. -#}
{% macro time_ms(raw, unit="ms", past=false) %}
    {#- In the venue's unit, so that no arithmetic overflows. -#}
    {%- set per_ms, value = {"s": (0.001, "{} * 1000"), "ms": (1, "{}"), "us": (1000, "{} // 1000"), "ns": (1000000, "{} // 1000000")}[unit] -%}
    {%- set bounds = domains().time_ms -%}
    {{ return({"raw": raw, "parse": "try_cast({} as bigint)", "judge": "{}", "value": value, "least": (bounds.least * per_ms) | int,
        "most": latest_past(per_ms) if past else (bounds.most * per_ms) | int, "none_is_number": true}) }}
{% endmacro %}

{#- A time as UTC epoch ms, from text: ISO 8601, or in this format of strptime. `template` shifts it: `{}` is the time. -#}
{% macro time_of_text(raw, format=none, template="{}", past=false) %}
    {%- set parse = "epoch_ms(" ~ ("try_strptime({}, '" ~ format ~ "')" if format else "try_cast({} as timestamptz)") ~ ")" -%}
    {%- set bounds = domains().time_ms -%}
    {{ return({"raw": raw, "parse": parse, "value": template, "least": bounds.least, "most": latest_past(1) if past else bounds.most}) }}
{% endmacro %}

{#- The latest past time of a row, in a unit of which a ms has this many. -#}
{% macro latest_past(per_ms) %}
    {%- set latest = "least(received_ms + " ~ clock_tolerance_ms() ~ ", " ~ domains().time_ms.most ~ ")" -%}
    {{ return(latest ~ (" // 1000" if per_ms < 1 else " * " ~ per_ms if per_ms > 1 else "")) }}
{% endmacro %}

{#- The name of a market, an asset or an account, as the venue writes it. Names are shorter than 65 characters and are not
    JSON. -#}
{% macro word(raw) %}
    {{ return({"raw": raw, "within": "length({0}) between 1 and 64 and left({0}, 1) not in ('{{', '[')", "value": "{}"}) }}
{% endmacro %}

{#- One side of an order book, best first, from a list of lists that begin with price and size; null if a level is
    implausible, because a book with a hole would look like a thin one. -#}
{% macro levels(raw) %}
    {%- set price, size = domains().price, domains().size -%}
    {%- set plausible = "level[1] between " ~ price.least ~ " and " ~ price.most ~ " and level[2] between " ~ size.least ~ " and " ~ size.most -%}
    {{ return({"raw": raw, "parse": "try_cast({} as double[2][])", "value": "{}::double[][]", "absent": "{} is null",
        "within": "len({0}) = 0 or list_bool_and([coalesce(" ~ plausible ~ ", false) for level in {0}])"}) }}
{% endmacro %}

{#- An SQL expression over fields, null outside of the domain of its result. -#}
{% macro within(expression, domain) %}
    {%- set bounds = domains()[domain] -%}
    {{ return("case when " ~ expression ~ " between " ~ bounds.least ~ " and " ~ bounds.most ~ " then " ~ expression ~ " end") }}
{% endmacro %}

{#- The fields that are read from the body itself. -#}
{% macro raw_fields(fields) %}
    {%- set found = {} -%}
    {%- for name, field in fields.items() if field is not string -%}{%- do found.update({name: field}) -%}{%- endfor -%}
    {{ return(found) }}
{% endmacro %}

{#- The text of a field: JSON is searched once, in the innermost query of `read`; anything else is as quick to extract as
    to copy. -#}
{% macro text_of(name, field) %}{{ return(name ~ "_text" if "->" in field.raw else "(" ~ field.raw ~ ")") }}{% endmacro %}

{#- The rows of `relation` with a column for each of these fields. Each is extracted, parsed and judged once, one query above
    the other: DuckDB would evaluate an expression again wherever it occurs. -#}
{% macro read(relation, fields) -%}
{%- set raw, searched = raw_fields(fields), [] -%}
{%- do note_origin(fields) -%}
{%- for name, field in raw.items() if "->" in field.raw -%}{%- do searched.append(field.raw ~ " as " ~ name ~ "_text") -%}{%- endfor -%}
(
    select
        *
        {%- for name, field in raw.items() %},
        {% set given = name ~ "_parsed" if field.parse else text_of(name, field) -%}
        {%- set within = field.within or "{} between " ~ field.least ~ " and " ~ field.most -%}
        case when {{ within.format((field.judge or field.value).format(given)) }} then {{ field.value.format(given) }} end as {{ name }}
        {%- endfor %}
    from (
        select
            *
            {%- for name, field in raw.items() if field.parse %},
            {{ field.parse.format(text_of(name, field)) }} as {{ name }}_parsed
            {%- endfor %}
        from {% if searched %}(select *, {{ searched | join(", ") }} from {{ relation }}){% else %}{{ relation }}{% endif %}
    )
)
{%- endmacro %}

{#- Write into the `meta` of the staging view that is parsed where its columns come from: under `endpoints` the recorded
    endpoints whose bodies it reads, under `fields` the SQL that extracts each column's text from the body. -#}
{% macro note_origin(fields) %}
    {%- set texts, endpoints = {}, [] -%}
    {%- for name, field in fields.items() -%}{%- do texts.update({name: field if field is string else field.raw}) -%}{%- endfor -%}
    {%- for venue, own in staged() if model is defined and not execute and model.name.startswith("stg_" ~ venue ~ "__") -%}
        {%- for entry in own if entry.split("<")[0] == model.name.split("__")[1] -%}
            {%- do endpoints.extend(entry.split("<")[-1].split("+")) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- if endpoints -%}{%- do config(meta={"endpoints": endpoints, "fields": texts}) -%}{%- endif -%}
{% endmacro %}

{#- The columns of these fields, which `read` has read, and of each row: `reject`, the reason why it is unusable, null if it
    is usable (a broken body, or a required column without a plausible value), and `outside`, how many of its other values
    are outside of their domains. A field whose name begins with an underscore is judged but is not a column; a field that is a text is
    SQL. -#}
{% macro measured(fields, required, unreadable="r is null") -%}
{%- for name, field in fields.items() if not name.startswith("_") -%}
    {%- if field is string -%}
    {{ field }} as {{ name }},
    {%- else -%}
    {{ name }},
    {%- endif %}
    {% endfor -%}
    case
        when {{ unreadable }} then 'unreadable'
        when {{ required | join(" is null or ") }} is null then 'incomplete'
    end as reject,
    {% for name, field in raw_fields(fields).items() if name not in required -%}
    case when {{ name }} is null and {{ field.absent.format(text_of(name, field)) ~ " is false" if field.absent else text_of(name, field) ~ " <> ''" }}
    {%- if field.none_is_number %} and ({{ name }}_parsed in (0, -1)) is not true{% endif %} then 1 else 0 end{{ "\n    + " if not loop.last }}
    {%- else %}0{% endfor %} as outside
{%- endmacro %}

{#- The length in ms of the period that a `word` of a request stands for (5m, 1hour, 1Dutc, Min60, D); `unit_ms` is the
    unit of bare numbers. -#}
{% macro period_ms(word, unit_ms=none) -%}
coalesce(try_cast(regexp_extract({{ word }}, '[0-9]{1,5}') as bigint), 1)
    * case lower(regexp_extract({{ word }}, '[A-Za-z]'))
        when 'm' then 60000 when 'h' then 3600000 when 'd' then 86400000{% if unit_ms %} when '' then {{ unit_ms }}{% endif %}
    end::bigint
{%- endmacro %}

{#- The last ms of a bar that begins at `opened_ms`. -#}
{% macro bar_end(period_ms) %}{{ return("opened_ms + " ~ period_ms ~ " - 1") }}{% endmacro %}
