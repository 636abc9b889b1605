"""The functions of the module `hive`: Hive's scalar functions that Spark has too.

What Hive and Spark calculate differently under one name, such as `hash`, is not among them, and
neither is what may give another value for the same arguments, such as `rand`.
"""

from __future__ import annotations

__all__ = ["HIVE_FUNCTIONS", "HIVE_REFUSED"]

_NAMES = """
    abs acos add_months array array_contains ascii asin atan base64 bin bround cbrt ceil ceiling
    char_length character_length chr coalesce concat concat_ws conv cos crc32 date_add date_format
    date_sub datediff day dayofmonth dayofweek decode degrees e elt encode exp factorial find_in_set
    floor format_number from_unixtime from_utc_timestamp get_json_object hex hour initcap instr
    isnotnull isnull last_day lcase length levenshtein ln locate log log10 log2 lower lpad ltrim map
    map_keys map_values mask md5 minute month months_between named_struct negative next_day nullif
    nvl octet_length parse_url pi pmod positive pow power printf quarter radians regexp_extract
    regexp_replace repeat replace reverse round rpad rtrim second sentences sha sha1 sha2 shiftleft
    shiftright shiftrightunsigned sign sin size sort_array soundex space split sqrt str_to_map
    substr substring substring_index tan to_date to_unix_timestamp to_utc_timestamp translate trim
    trunc ucase unbase64 unhex upper weekofyear width_bucket xpath xpath_boolean xpath_double
    xpath_float xpath_int xpath_long xpath_number xpath_short xpath_string year
"""
HIVE_FUNCTIONS = frozenset(_NAMES.split())

_REFUSED = """
    aes_decrypt aes_encrypt assert_true bloom_filter collect_list collect_set compute_stats
    context_ngrams corr covar_pop covar_samp create_union current_groups current_user
    enforce_constraint ewah_bitmap ewah_bitmap_and ewah_bitmap_empty ewah_bitmap_or explode field
    get_splits hash histogram_numeric in_file index inline java_method json_tuple logged_in_user
    mask_first_n mask_hash mask_last_n mask_show_first_n mask_show_last_n matchpath murmur_hash
    ngrams noop parse_url_tuple percentile_approx posexplode reflect reflect2 regr_avgx regr_avgy
    regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy restrict_information
    stack std stddev struct variance version
"""
HIVE_REFUSED = frozenset(_REFUSED.split())
"""Those of Hive that are not offered: aggregates, table functions, and what Spark does not have."""
