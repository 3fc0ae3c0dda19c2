//! Functions and comparisons of JSON documents, a line each. The results are those of MySQL 8.0's own tests.

use super::check;

#[test]
fn casts() {
    check(
        r#"
        CAST('"abc"' AS JSON) -> "abc"
        CAST('abc' AS JSON) -> ERROR 3141
        CAST('{"b": 1, "a" : [1,2 , 3], "ab":null}' AS JSON) -> {"a": [1, 2, 3], "b": 1, "ab": null}
        CAST('{"a":1,"a":2}' AS JSON) -> {"a": 2}
        CAST(NULL AS JSON) -> NULL
        CAST(127 AS JSON) -> 127
        CAST(18446744073709551615 AS JSON) -> 18446744073709551615
        CAST(3.14 AS JSON) -> 3.14
        CAST(3.140 AS JSON) -> 3.140
        CAST(3.14e0 AS JSON) -> 3.14
        CAST(3e0 AS JSON) -> 3.0
        CAST(1e100 AS JSON) -> 1e100
        CAST('-0.0' AS JSON) -> -0.0
        CAST('-0' AS JSON) -> 0
        CAST(x'cafebabe' AS JSON) -> "base64:type15:yv66vg=="
        CAST(DATE'2015-01-15' AS JSON) -> "2015-01-15"
        CAST(TIME'18:00:59' AS JSON) -> "18:00:59.000000"
        CAST(TIMESTAMP'2015-01-15 23:24:25' AS JSON) -> "2015-01-15 23:24:25.000000"
        CAST('2e308' AS JSON) -> ERROR 3141
        CAST('[1,2' AS JSON) -> ERROR 3141
        CAST(REPEAT('[', 101) AS JSON) -> ERROR 3157
        CAST(CAST('[1, "a"]' AS JSON) AS CHAR) -> [1, "a"]
        CAST(CAST('"a"' AS JSON) AS CHAR) -> "a"
        CAST(CAST('12' AS JSON) AS SIGNED) -> 12
        CAST(CAST('12.6' AS JSON) AS SIGNED) -> 13
        CAST(CAST('"12"' AS JSON) AS SIGNED) -> 12
        CAST(CAST('"12a"' AS JSON) AS SIGNED) -> 12 [3156]
        CAST(CAST('true' AS JSON) AS SIGNED) -> 1
        CAST(CAST('null' AS JSON) AS SIGNED) -> 0 [3156]
        CAST(CAST('[1]' AS JSON) AS SIGNED) -> 0 [3156]
        CAST(CAST('1e300' AS JSON) AS SIGNED) -> 9223372036854775807 [3155]
        CAST(CAST('{}' AS JSON) AS DECIMAL(10, 2)) -> 0.00 [3156]
        CAST(CAST('1.25' AS JSON) AS DECIMAL(10, 1)) -> 1.3
        CAST(CAST('"2020-02-03"' AS JSON) AS DATE) -> 2020-02-03
        CAST(CAST(DATE'2020-02-03' AS JSON) AS DATE) -> 2020-02-03
        CAST(CAST('5' AS JSON) AS DATETIME) -> NULL [3156]
        CAST(CAST('"10:11:12"' AS JSON) AS TIME) -> 10:11:12
        CAST(CAST('[1]' AS JSON) AS TIME) -> NULL [3156]
        CAST('5.45' AS JSON) + 1 -> 6.45
        CAST('"a"' AS JSON) + 1 -> 1 [3156]
        -CAST('2' AS JSON) -> -2
        "#,
    );
}

#[test]
fn comparisons() {
    check(
        r#"
        CAST(0.0e0 AS JSON) = -0.0e0 -> 1
        CAST(0.0e0 AS JSON) = 0 -> 1
        CAST('1.1' AS JSON) = 1.1 -> 1
        CAST('1.1' AS JSON) = 1.1e0 -> 1
        CAST('3.15' AS JSON) < 3.15 -> 0
        CAST('9223372036854775807' AS JSON) < CAST('9223372036854775808' AS JSON) -> 1
        CAST('9223372036854775807' AS JSON) < 9.223372036854776e18 -> 1
        CAST('18446744073709551616' AS JSON) > 18446744073709551615 -> 1
        CAST('"a"' AS JSON) = 'a' -> 1
        CAST('"a"' AS JSON) = 'A' -> 0
        CAST('"a"' AS JSON) = '"a"' -> 0
        CAST('true' AS JSON) = 1 -> 0
        CAST('true' AS JSON) = CAST('true' AS JSON) -> 1
        CAST(NULL AS JSON) = 1 -> NULL
        CAST('null' AS JSON) IS NULL -> 0
        CAST('null' AS JSON) = NULL -> NULL
        CAST('[1, 2]' AS JSON) = CAST('[1,2.0]' AS JSON) -> 1
        CAST('[1, 2]' AS JSON) < CAST('[1, 2, 0]' AS JSON) -> 1
        CAST('[1, 2]' AS JSON) < CAST('[1, 3]' AS JSON) -> 1
        CAST('{"a": 1, "b": 2}' AS JSON) = CAST('{"b": 2, "a": 1}' AS JSON) -> 1
        CAST('{"a": 2}' AS JSON) < CAST('{"a": 1, "b": 2}' AS JSON) -> 1
        CAST('null' AS JSON) < CAST('-1' AS JSON) -> 1
        CAST('99' AS JSON) < CAST('""' AS JSON) -> 1
        CAST('"z"' AS JSON) < CAST('{}' AS JSON) -> 1
        CAST('{"a": 1}' AS JSON) < CAST('[]' AS JSON) -> 1
        CAST('[9]' AS JSON) < CAST('false' AS JSON) -> 1
        CAST('false' AS JSON) < CAST('true' AS JSON) -> 1
        CAST('true' AS JSON) < CAST(DATE'1000-01-01' AS JSON) -> 1
        CAST(DATE'9999-12-31' AS JSON) < CAST(TIME'-10:00:00' AS JSON) -> 1
        CAST(TIME'100:00:00' AS JSON) < CAST(TIMESTAMP'1000-01-01 00:00:00' AS JSON) -> 1
        CAST(TIMESTAMP'9999-01-01 00:00:00' AS JSON) < CAST(x'00' AS JSON) -> 1
        CAST(DATE'2015-01-15' AS JSON) = DATE'2015-01-15' -> 1
        CAST(DATE'2015-01-15' AS JSON) = '2015-01-15' -> 0
        CAST('2' AS JSON) BETWEEN 1 AND 3 -> 1
        CAST('2' AS JSON) IN (1, 2) -> 1
        CAST('0' AS JSON) AND 1 -> 0
        CAST('0.0' AS JSON) OR 0 -> 0
        CAST('false' AS JSON) AND 1 -> 1
        CAST('"a"' AS JSON) AND 1 -> 1
        NULLIF(CAST('1' AS JSON), 1) -> NULL
        JSON_TYPE(IF(1, CAST('null' AS JSON), CAST('[1]' AS JSON))) -> NULL
        JSON_TYPE(IF(0, CAST('null' AS JSON), CAST('[1]' AS JSON))) -> ARRAY
        IFNULL(CAST('"a"' AS JSON), 'x') -> "a"
        IFNULL(CAST(NULL AS JSON), 'x') -> x
        "#,
    );
}

#[test]
fn making_documents() {
    check(
        r#"
        JSON_ARRAY() -> []
        JSON_ARRAY(1, 'abc', NULL, 3.14) -> [1, "abc", null, 3.14]
        JSON_ARRAY('[1,2,3]', '$[3]', NULL) -> ["[1,2,3]", "$[3]", null]
        JSON_ARRAY(CAST('[1,2,3]' AS JSON)) -> [[1, 2, 3]]
        JSON_ARRAY(x'00', x'01') -> ["base64:type15:AA==", "base64:type15:AQ=="]
        JSON_OBJECT() -> {}
        JSON_OBJECT('a', NULL) -> {"a": null}
        JSON_OBJECT(NULL, 1) -> ERROR 3158
        JSON_OBJECT('a', 1, 'b', 'foo', 'c', CAST('{"d": "wibble"}' AS JSON)) -> {"a": 1, "b": "foo", "c": {"d": "wibble"}}
        JSON_OBJECT('a', 1, 'a', 2) -> {"a": 2}
        JSON_OBJECT(1, 2) -> {"1": 2}
        JSON_OBJECT(REPEAT('a', 65536), 1) -> ERROR 3151
        JSON_QUOTE(NULL) -> NULL
        JSON_QUOTE('abc') -> "abc"
        JSON_QUOTE('"') -> "\""
        JSON_QUOTE(JSON_QUOTE(JSON_QUOTE('abc'))) -> "\"\\\"abc\\\"\""
        JSON_QUOTE(123) -> ERROR 3064
        JSON_UNQUOTE(NULL) -> NULL
        JSON_UNQUOTE('abc') -> abc
        JSON_UNQUOTE('"abc"') -> abc
        JSON_UNQUOTE('"abc') -> "abc
        JSON_UNQUOTE('"') -> "
        JSON_UNQUOTE('""') -> ''
        JSON_UNQUOTE('"\\t\\u0032"') -> 	2
        JSON_UNQUOTE('"a"b"') -> ERROR 3141
        JSON_UNQUOTE(123) -> ERROR 3064
        JSON_UNQUOTE(x'41') -> ERROR 3144
        JSON_UNQUOTE(CAST('{"abc": "foo"}' AS JSON)) -> {"abc": "foo"}
        JSON_UNQUOTE(CAST('"a b"' AS JSON)) -> a b
        JSON_UNQUOTE(CAST(TIMESTAMP'2015-01-15 23:24:25' AS JSON)) -> 2015-01-15 23:24:25.000000
        CAST(CONCAT('[', JSON_QUOTE('ab'), ']') AS JSON) -> ["ab"]
        CAST(CONCAT('[', JSON_UNQUOTE('"12"'), ']') AS JSON) -> [12]
        "#,
    );
}

#[test]
fn paths() {
    check(
        r#"
        JSON_EXTRACT(NULL, '$.b') -> NULL
        JSON_EXTRACT('{"a": 1}', NULL) -> NULL
        JSON_EXTRACT('$.a', '{"a": 1}') -> ERROR 3141
        JSON_EXTRACT(1, '$') -> ERROR 3146
        JSON_EXTRACT(x'31', '$') -> ERROR 3144
        JSON_EXTRACT('{}', x'24') -> ERROR 3144
        JSON_EXTRACT('{"a": 1, "b": {"e": "foo", "b": 3}}', '$.a') -> 1
        JSON_EXTRACT('{"a": 1, "b": {"e": "foo", "b": 3}}', '$.*') -> [1, {"b": 3, "e": "foo"}]
        JSON_EXTRACT('{"a": 1, "b": {"e": "foo", "b": 3}}', '$.a', '$.b.e') -> [1, "foo"]
        JSON_EXTRACT('{"a": 1, "b": [1,2,3]}', '$.b[2]') -> 3
        JSON_EXTRACT('{"a": "foo", "b": [true, {"c": 123, "c": 456}]}', '$.b[ 1 ].c') -> 456
        JSON_EXTRACT('{"a": "foo", "b": [true, {"c": 123}]}', '$.d', '$.b[0]') -> [true]
        JSON_EXTRACT('{"a": "foo", "b": [true, {"c": 123}]}', '$.b[ 1 ].') -> ERROR 3143
        JSON_EXTRACT('{"a": "foo", "b": [true, {"c": 123}]}', '$.b[ 1 ].c[ 0 ]') -> 123
        JSON_EXTRACT('{"a": "foo", "b": [true, {"c": 123}]}', '$.b[ 1 ].c[ 1 ]') -> NULL
        JSON_EXTRACT('{"one potato": 1}', '$."one potato"') -> 1
        JSON_EXTRACT('{"a.b": 1}', '$."a.b"') -> 1
        JSON_EXTRACT('{"\\"a\\"": 1}', '$."a"') -> NULL
        JSON_EXTRACT('{"\\"a\\"": 1}', '$."\\"a\\""') -> 1
        JSON_EXTRACT('{"a": [[3, 2], [{"c": "d"}, 1]]}', '$.a[1][0].c') -> "d"
        JSON_EXTRACT('[{"a": 1}, {"a": 2}]', '$[*].b') -> NULL
        JSON_EXTRACT('[{"a": 1}, {"a": 2}]', '$[*].a') -> [1, 2]
        JSON_EXTRACT('[{"a": [3,4]}, {"b": 2}]', '$[*].a') -> [[3, 4]]
        JSON_EXTRACT('[1]', '$**[0]') -> [1]
        JSON_EXTRACT('{"a": 1}', '$**[0]') -> [{"a": 1}, 1]
        JSON_EXTRACT('{"a": 1}', '$[0][0][0].a') -> 1
        JSON_EXTRACT('{"a": 1}', '$[last][last].a') -> 1
        JSON_EXTRACT('{"a": {"b": 1}, "b": 2}', '$**.b') -> [2, 1]
        JSON_EXTRACT('[1, [[{"x": [{"a":{"b":{"c":42}}}]}]]]', '$**.a.*') -> [{"c": 42}]
        JSON_EXTRACT('[[0,1],[2,3],[4,[5,6]]]', '$**[0]') -> [[0, 1], 0, 1, 2, 3, 4, 5, 6]
        JSON_EXTRACT('[[0,1],[2,3],[4,[5,6]]]', '$**[1]') -> [[2, 3], 1, 3, [5, 6], 6]
        JSON_EXTRACT('[[0,1],[2,3],[4,[5,6]]]', '$**[3]') -> NULL
        JSON_EXTRACT('[[0,1],[2,3],[4,[5,6]]]', '$**[*]') -> [[0, 1], [2, 3], [4, [5, 6]], 0, 1, 2, 3, 4, [5, 6], 5, 6]
        JSON_EXTRACT('[1,2,[3,4,[5,6,{"a":7}]]]', '$**[*]**[0]') -> [1, 2, 3, 4, 5, 6, {"a": 7}, 7]
        JSON_EXTRACT('-1E-36181012216111515851075235238', '$') -> -0.0
        JSON_EXTRACT('1E-325', '$') -> 0.0
        JSON_EXTRACT('1E+308', '$') -> 1e308
        JSON_EXTRACT('1E+309', '$') -> ERROR 3141
        "#,
    );
}

#[test]
fn ranges_of_paths() {
    check(
        r#"
        JSON_EXTRACT('[1,2,3,4]', '$[0 to 0]') -> [1]
        JSON_EXTRACT('[1,2,3,4]', '$[1 to 2]') -> [2, 3]
        JSON_EXTRACT('[1,2,3,4]', '$[1 to 4]') -> [2, 3, 4]
        JSON_EXTRACT('[1,2,3,4]', '$[99 to 100]') -> NULL
        JSON_EXTRACT('[1,2,3,4]', '$[last to last]') -> [4]
        JSON_EXTRACT('[1,2,3,4]', '$[last-1 to last]') -> [3, 4]
        JSON_EXTRACT('[1,2,3,4]', '$[last-4 to last]') -> [1, 2, 3, 4]
        JSON_EXTRACT('[1,2,3,4]', '$[last-4 to 5]') -> [1, 2, 3, 4]
        JSON_EXTRACT('[1,2,3,4]', '$[last to 2]') -> NULL
        JSON_EXTRACT('[1,2,3,4]', '$[last-1 to 2]') -> [3]
        JSON_EXTRACT('[1,2,3,4]', '$[last-100 to last-99]') -> NULL
        JSON_EXTRACT('[1,2,3,4]', '$[1 to last-1]') -> [2, 3]
        JSON_EXTRACT('[1,2,3,4]', '$[2 to last-2]') -> NULL
        JSON_EXTRACT('[1,2,3,4]', '$**[1 to 2]') -> [2, 3]
        JSON_EXTRACT('[1,2,3,4]', '$**[0 to 2]') -> [1, 2, 3, 4]
        JSON_EXTRACT('[1,2,3,4]', '$**[last-1 to last]') -> [3, 4, 1, 2]
        JSON_EXTRACT('[1,2,3,4]', '$**[last to 2]') -> [1, 2, 3, 4]
        JSON_EXTRACT('[1,2,3,4]', '$**[last-1 to 2]') -> [3, 1, 2, 4]
        JSON_EXTRACT('[]', '$[0 to 1]') -> NULL
        JSON_EXTRACT('[]', '$[last-1 to last]') -> NULL
        JSON_EXTRACT('[1,2,3,4]', '$[2][0 to 10]') -> [3]
        JSON_EXTRACT('[1,2,3,4]', '$[2][0 to last-2]') -> NULL
        JSON_EXTRACT('[1,2,3,4]', '$[2][1 to last]') -> NULL
        JSON_EXTRACT('[1,2,3,4]', '$[2][last-2 to 0]') -> [3]
        JSON_EXTRACT('[1,2,3,4]', '$[1 to 2][last]') -> [2, 3]
        JSON_EXTRACT('[1,2,3,4]', '$[1 to 2][last-10 to last]') -> [2, 3]
        JSON_EXTRACT('true', '$[2 to 1]') -> ERROR 3143
        JSON_EXTRACT('true', '$[last to last-1]') -> ERROR 3143
        JSON_EXTRACT('[1,2]', '$[last]', '$[last-1]', '$[last-2]') -> [2, 1]
        JSON_SET('[1,2,3]', '$[0 to 1]', 123) -> ERROR 3149
        JSON_LENGTH('[1,2,3]', '$[0 to 1]') -> ERROR 3149
        "#,
    );
}

#[test]
fn properties() {
    check(
        r#"
        JSON_VALID('123') -> 1
        JSON_VALID('12 3') -> 0
        JSON_VALID(CAST('[123]' AS JSON)) -> 1
        JSON_VALID(NULL) -> NULL
        JSON_VALID(DATE'2015-01-15') -> 0
        JSON_VALID(1) -> 0
        JSON_VALID(REPEAT('[', 100000)) -> ERROR 3157
        JSON_VALID(CONCAT(REPEAT('[', 100), REPEAT(']', 100))) -> 1
        JSON_TYPE(NULL) -> NULL
        JSON_TYPE('null') -> NULL
        JSON_TYPE('true') -> BOOLEAN
        JSON_TYPE('1') -> INTEGER
        JSON_TYPE('4294967295') -> INTEGER
        JSON_TYPE('4294967296') -> UNSIGNED INTEGER
        JSON_TYPE('-4294967296') -> INTEGER
        JSON_TYPE('18446744073709551615') -> UNSIGNED INTEGER
        JSON_TYPE('18446744073709551616') -> DOUBLE
        JSON_TYPE('1.0') -> DOUBLE
        JSON_TYPE(CAST(1.0 AS JSON)) -> DECIMAL
        JSON_TYPE('"a"') -> STRING
        JSON_TYPE('{}') -> OBJECT
        JSON_TYPE('[]') -> ARRAY
        JSON_TYPE(CAST(DATE'2015-01-15' AS JSON)) -> DATE
        JSON_TYPE(CAST(TIME'10:11:12' AS JSON)) -> TIME
        JSON_TYPE(CAST(TIMESTAMP'2015-01-15 10:11:12' AS JSON)) -> DATETIME
        JSON_TYPE(CAST(x'00' AS JSON)) -> BLOB
        JSON_TYPE(1) -> ERROR 3146
        JSON_LENGTH(NULL) -> NULL
        JSON_LENGTH('1') -> 1
        JSON_LENGTH('abc') -> ERROR 3141
        JSON_LENGTH('{}') -> 0
        JSON_LENGTH('{"a": 100, "b": [300, 400, 500]}') -> 2
        JSON_LENGTH('[1, [2, 3, 4], 5]', '$[1]') -> 3
        JSON_LENGTH('[1, [2, 3, 4], 5]', '$[2][0]') -> 1
        JSON_LENGTH('[1, [2, 3, 4], 5]', '$[2][1]') -> NULL
        JSON_LENGTH('true', 'c$') -> ERROR 3143
        JSON_LENGTH('true', '$.*') -> ERROR 3149
        JSON_LENGTH('true', '$.foo**.bar') -> ERROR 3149
        JSON_DEPTH(NULL) -> NULL
        JSON_DEPTH('[]') -> 1
        JSON_DEPTH('[[2], 3, [[[4]]]]') -> 5
        JSON_DEPTH('{"a": {"a1": [3]}, "b": {"b1": {"c": {"d": [5]}}}}') -> 6
        JSON_DEPTH('["a", true, {}, null]') -> 2
        JSON_DEPTH(1) -> ERROR 3146
        JSON_DEPTH('abc') -> ERROR 3141
        JSON_KEYS(NULL, '$.b') -> NULL
        JSON_KEYS('{"a": 1, "b": {"e": "foo", "b": 3}}') -> ["a", "b"]
        JSON_KEYS('{"a": 1, "b": {"e": "foo", "b": 3}}', '$.b') -> ["b", "e"]
        JSON_KEYS('{"a": 1, "b": {"e": "foo", "b": 3}}', '$.a') -> NULL
        JSON_KEYS('{"a": 1, "b": {"e": "foo", "b": 3}}', '$.*.b') -> ERROR 3149
        JSON_KEYS('{"a": {}}', '$.a') -> []
        JSON_KEYS('{"a": {}}', '$[0]') -> NULL
        JSON_KEYS('[{"a": {}}]', '$[last].a') -> []
        JSON_KEYS('{"a":1}', '1010') -> ERROR 3143
        JSON_STORAGE_SIZE('1') -> 3
        JSON_STORAGE_SIZE('{"a": 1000, "b": "wxyz", "c": "[1, 3, 5, 7]"}') -> 47
        JSON_STORAGE_SIZE('[100, "sakila", [1, 3, 5], 425.05]') -> 45
        JSON_STORAGE_SIZE('{"a": 1000,"b": "a", "c": "[1, 3, 5, 7]"}') -> 44
        JSON_STORAGE_SIZE('{"a": 1000,"b": "wxyz", "c": "[1, 3, 5, 7]"}') -> 47
        JSON_STORAGE_SIZE('[100, "json", [[10, 20, 30], 3, 5], 425.05]') -> 56
        JSON_STORAGE_FREE('{"a": 1}') -> 0
        JSON_STORAGE_FREE(NULL) -> NULL
        JSON_PRETTY('123') -> 123
        JSON_PRETTY('[]') -> []
        JSON_PRETTY('{}') -> {}
        REPLACE(JSON_PRETTY('[1,{"a": [], "b": [2]}]'), '\n', '|') -> [|  1,|  {|    "a": [],|    "b": [|      2|    ]|  }|]
        "#,
    );
}

#[test]
fn containment() {
    check(
        r#"
        JSON_CONTAINS(NULL, NULL) -> NULL
        JSON_CONTAINS('[1]', '[1]', NULL) -> NULL
        JSON_CONTAINS(CAST(3.14 AS JSON), CAST(3 AS JSON)) -> 0
        JSON_CONTAINS('{"a": {"b": 7}}', '{"b": 7}') -> 0
        JSON_CONTAINS('{"a": {"b": 7}}', '{"b": 7}', '$.a') -> 1
        JSON_CONTAINS('[1,[2.0, 3.0]]', '[2.0]') -> 1
        JSON_CONTAINS('[1, 2, [3, [4, 5]], 6, 7]', '5') -> 1
        JSON_CONTAINS('{"a": 1, "b": 2}', '"a"') -> 0
        JSON_CONTAINS('[1]', '[1,2]') -> 0
        JSON_CONTAINS('null', 'null') -> 1
        JSON_CONTAINS('{"a": 1, "b": 2}', '{"a": 1}') -> 1
        JSON_CONTAINS('[1, 2, 3]', '[1, 3]') -> 1
        JSON_CONTAINS('[1, 2, 3]', '3') -> 1
        JSON_CONTAINS('{"person": {"id": 1, "country": "norway"}}', '{"person": {"country": "norway"}}') -> 1
        JSON_CONTAINS('[1,3,5]', '[5,3,1,5]') -> 1
        JSON_CONTAINS('[{"b": 4, "a":7}]', '[{"a":7},{"b":4}]') -> 1
        JSON_CONTAINS('[{"b": 4, "a":7}, 5.0]', '[5, {"a":7.0E0, "b":4}]') -> 1
        JSON_CONTAINS('[null,1,[2,3],true,false]', '[null,1,[3],false]') -> 1
        JSON_CONTAINS('[null,1,[2,3],true,false]', '[null,1,[4],false]') -> 0
        JSON_CONTAINS('[true,false]', '[[true]]') -> 0
        JSON_CONTAINS('[1,2]', '[[1]]') -> 0
        JSON_CONTAINS('[1,2]', '1', '$.abc') -> NULL
        JSON_CONTAINS('{}', '{"a":1}') -> 0
        JSON_CONTAINS('{"a":1}', '{"a":1,"b":2}') -> 0
        JSON_CONTAINS('[]', '{"a" : 1}') -> 0
        JSON_CONTAINS('[]', '[1, 2, 3, 4, 5]') -> 0
        JSON_CONTAINS('[]', '[]') -> 1
        JSON_CONTAINS_PATH('{"a": tru}', 'all', '$') -> ERROR 3141
        JSON_CONTAINS_PATH('{"a": true}', 'all', '$[') -> ERROR 3143
        JSON_CONTAINS_PATH('{"a": true}', 'foo', '$.a') -> ERROR 3154
        JSON_CONTAINS_PATH(NULL, 'all', '$.a') -> NULL
        JSON_CONTAINS_PATH('{"a": true}', NULL, '$.a') -> NULL
        JSON_CONTAINS_PATH('{"a": true}', 'all', NULL) -> NULL
        JSON_CONTAINS_PATH('{"a": true}', 'all', '$') -> 1
        JSON_CONTAINS_PATH('{"a": true}', 'one', '$.b') -> 0
        JSON_CONTAINS_PATH('{"a": true}', 'aLl', '$.a', '$.b') -> 0
        JSON_CONTAINS_PATH('{"a": true}', 'oNe', '$.b', '$.a') -> 1
        JSON_CONTAINS_PATH('{"a": true, "b": [1, 2, {"c": [4, 5, {"d": [6, 7, 8, 9, 10]}]}]}', 'all', '$**[4]') -> 1
        JSON_CONTAINS_PATH('{"a": true, "b": [1, 2, {"c": [4, 5, {"d": [6, 7, 8, 9, 10]}]}]}', 'all', '$**[4]', '$**[5]') -> 0
        JSON_CONTAINS_PATH('[1,2,3]', 'one', '$.*') -> 0
        JSON_CONTAINS_PATH('{}', 'one', '$[*]') -> 0
        JSON_OVERLAPS('[1,3,5,7]', '[2,5,7]') -> 1
        JSON_OVERLAPS('[1,3,5,7]', '[2,6,8]') -> 0
        JSON_OVERLAPS('[[1,2],[3,4],5]', '[1,[2,3],[4,5]]') -> 0
        JSON_OVERLAPS('{"a":1,"b":10,"d":10}', '{"c":1,"e":10,"f":1,"d":10}') -> 1
        JSON_OVERLAPS('{"a":1,"b":10,"d":10}', '{"a":5,"e":10,"f":1,"d":20}') -> 0
        JSON_OVERLAPS('5', '5') -> 1
        JSON_OVERLAPS('5', '6') -> 0
        JSON_OVERLAPS('[4,5,6,7]', '6') -> 1
        JSON_OVERLAPS('[4,5,"6",7]', '6') -> 0
        JSON_OVERLAPS('[4,5,6,7]', '"6"') -> 0
        JSON_OVERLAPS('[{"a": 1}, 2]', '{"a": 1}') -> 1
        JSON_OVERLAPS(NULL, '1') -> NULL
        "#,
    );
}

#[test]
fn searches() {
    check(
        r#"
        JSON_SEARCH(NULL, 'all', 'a') -> NULL
        JSON_SEARCH('["abc", [{"k": "10"}, "def"], {"x":"abc"}, {"y":"bcd"}]', 'one', 'abc') -> "$[0]"
        JSON_SEARCH('["abc", [{"k": "10"}, "def"], {"x":"abc"}, {"y":"bcd"}]', 'all', 'abc') -> ["$[0]", "$[2].x"]
        JSON_SEARCH('["abc", [{"k": "10"}, "def"], {"x":"abc"}, {"y":"bcd"}]', 'all', 'ghi') -> NULL
        JSON_SEARCH('["abc", [{"k": "10"}, "def"], {"x":"abc"}, {"y":"bcd"}]', 'all', '10', NULL, '$**.k') -> "$[1][0].k"
        JSON_SEARCH('["abc", [{"k": "10"}, "def"], {"x":"abc"}, {"y":"bcd"}]', 'all', '%a%') -> ["$[0]", "$[2].x"]
        JSON_SEARCH('["abc", [{"k": "10"}, "def"], {"x":"abc"}, {"y":"bcd"}]', 'all', '%b%', '', '$[3]') -> "$[3].y"
        JSON_SEARCH('{"a": ["foolish", "folly", "foolhardy"], "b": "fool"}', 'ALL', 'foo%', NULL, '$.a') -> ["$.a[0]", "$.a[2]"]
        JSON_SEARCH('{"a": ["foolish", "folly", "foolhardy"], "b": "fool"}', 'aLl', 'foo%', NULL, '$.a', '$.b') -> ["$.a[0]", "$.a[2]", "$.b"]
        JSON_SEARCH('{"a": ["foolish", "folly", "foolhardy"], "b": "fool"}', 'ONE', 'foo%', NULL, '$.a', '$.b') -> "$.a[0]"
        JSON_SEARCH('[{"a": {"b": {"c": "fool"}}}, {"b": {"c": "shoulder"}}, {"c": {"c": "food"}}]', 'all', 'foo%', NULL, '$**.c') -> ["$[0].a.b.c", "$[2].c.c"]
        JSON_SEARCH('["footbar", "foo%bar"]', 'all', 'foo%bar') -> ["$[0]", "$[1]"]
        JSON_SEARCH('["footbar", "foo%bar"]', 'all', 'foo\%bar') -> "$[1]"
        JSON_SEARCH('["footbar", "foo%bar"]', 'all', 'foo|%bar', '|') -> "$[1]"
        JSON_SEARCH('["footbar", "foo%bar"]', 'all', 'foo|%bar', '|', '$[0]') -> NULL
        JSON_SEARCH('["abc", "ABC"]', 'all', 'aBc') -> NULL
        JSON_SEARCH('"abc"', 'all', 'abc', NULL, '$[0]') -> NULL
        JSON_SEARCH('["a", ["a"]]', 'all', 'a', NULL, '$[last]') -> "$[last][0]"
        JSON_SEARCH('["a", ["a"]]', 'all', 'a', NULL, '$[last]', '$[1]') -> ["$[last][0]", "$[1][0]"]
        JSON_SEARCH('["a", ["a"]]', 'all', 'a', NULL, '$[last]', '$') -> ["$[last][0]", "$[0]", "$[1][0]"]
        JSON_SEARCH('{"b": "x", "a a": {"b": "x"}}', 'all', 'x', NULL, '$."a a".b', '$.b') -> ["$.\"a a\".b", "$.b"]
        JSON_SEARCH('{"0": {"b": "x"}, "b": "x"}', 'all', 'x', NULL, '$**.b') -> ["$.b", "$.\"0\".b"]
        JSON_SEARCH('{"0": {"b": "x"}, "b": "x"}', 'one', 'x', NULL, '$**.b') -> "$.b"
        JSON_SEARCH('{"0": {"b": "x"}, "b": "x"}', 'all', 'x', NULL, '$.*', '$.b') -> ["$.\"0\".b", "$.b"]
        JSON_SEARCH('["abc", "ABC"]', 'all', 'ABC') -> "$[1]"
        JSON_SEARCH('[10, "10", 1.0, "1.0"]', 'all', '1%') -> ["$[1]", "$[3]"]
        JSON_SEARCH('{"a": "foo"}', 'one', 'foo', 'ab') -> ERROR 1210
        JSON_SEARCH('{"a": "foo"}', 'some', 'foo') -> ERROR 3154
        JSON_UNQUOTE(JSON_SEARCH('{"one potato": "food"}', 'all', 'food')) -> $."one potato"
        "#,
    );
}

#[test]
fn insertions() {
    check(
        r#"
        JSON_ARRAY_APPEND(NULL, '$.b', 1) -> NULL
        JSON_ARRAY_APPEND('[1,2,3]', NULL, 1) -> NULL
        JSON_ARRAY_APPEND('[1,2,3]', '$', NULL) -> [1, 2, 3, null]
        JSON_ARRAY_APPEND('1', '$', 3) -> [1, 3]
        JSON_ARRAY_APPEND('{"a": 3}', '$', 3) -> [{"a": 3}, 3]
        JSON_ARRAY_APPEND('3', '$[0][0][0][0]', 100) -> [3, 100]
        JSON_ARRAY_APPEND('{"a": "foo", "b": [1, 2, 3], "c": ["apple", "pear"]}', '$.b', 4, '$.c', 'grape') -> {"a": "foo", "b": [1, 2, 3, 4], "c": ["apple", "pear", "grape"]}
        JSON_ARRAY_APPEND('1', '$[0 to 1]', 3) -> ERROR 3149
        JSON_INSERT(NULL, '$.b', 1) -> NULL
        JSON_INSERT('[1,2,3]', '$[3]', NULL) -> [1, 2, 3, null]
        JSON_INSERT('[1,2,3]', '$[2]', 4) -> [1, 2, 3]
        JSON_INSERT('[1,2,3]', '$[10]', 4) -> [1, 2, 3, 4]
        JSON_INSERT('[1,2,3]', '$[last]', 4) -> [1, 2, 3]
        JSON_INSERT('[1,2,3]', '$[last-3]', 4) -> [4, 1, 2, 3]
        JSON_INSERT('[]', '$[last-1]', 1) -> [1]
        JSON_INSERT('{"c":4}', '$.a', 4) -> {"a": 4, "c": 4}
        JSON_INSERT('1', '$', 4) -> 1
        JSON_INSERT('1', '$[0]', 4) -> 1
        JSON_INSERT('1', '$[10]', '4', '$[11]', 5) -> [1, "4", 5]
        JSON_INSERT('1', '$[last-10]', '4', '$[last-11]', 5) -> [5, "4", 1]
        JSON_INSERT('[1,2,3]', '$[2][1]', 4) -> [1, 2, [3, 4]]
        JSON_INSERT('[1,2,3]', '$[2][last-1]', 4) -> [1, 2, [4, 3]]
        JSON_INSERT('{"a": 3}', '$.a[1]', 4, '$.a[2]', '5') -> {"a": [3, 4, "5"]}
        JSON_INSERT('{"a": 3}', '$[1]', 6) -> [{"a": 3}, 6]
        JSON_INSERT('{"a": {"b": [3]}}', '$**[1]', 6) -> ERROR 3149
        JSON_ARRAY_INSERT('true', '$', 1) -> ERROR 3153
        JSON_ARRAY_INSERT('true', '$.a[1].b', 1) -> ERROR 3153
        JSON_ARRAY_INSERT('true', '$[0]', 1) -> true
        JSON_ARRAY_INSERT('[]', '$[last-1]', 1) -> [1]
        JSON_ARRAY_INSERT('[true]', '$[0]', 2) -> [2, true]
        JSON_ARRAY_INSERT('[true]', '$[2]', 2) -> [true, 2]
        JSON_ARRAY_INSERT('[1, 2, 3, 4]', '$[last]', 9) -> [1, 2, 3, 9, 4]
        JSON_ARRAY_INSERT('[1, 2, 3, 4]', '$[last-3]', 9) -> [9, 1, 2, 3, 4]
        JSON_ARRAY_INSERT('[1, 2, 3, 4]', '$[last-4]', 9) -> [9, 1, 2, 3, 4]
        JSON_ARRAY_INSERT('{"a": [1, 2]}', '$.a[1]', 9) -> {"a": [1, 9, 2]}
        JSON_ARRAY_INSERT('["a"]', '$[0][0]', 1) -> ["a"]
        JSON_ARRAY_INSERT('[1]', '$[0]', 2, NULL, 3) -> NULL
        JSON_ARRAY_INSERT('[1]', '$', 2, NULL, 3) -> ERROR 3153
        JSON_ARRAY_INSERT('[1', NULL, 3) -> ERROR 3141
        JSON_ARRAY_INSERT('{"a": [1]}', '$[0].a[0]', 2) -> {"a": [1]}
        JSON_ARRAY_INSERT('[1, 2, 3]', '$[1]', 8, '$[1]', 9) -> [1, 9, 8, 2, 3]
        JSON_ARRAY_INSERT('[1, 2, 3]', '$[1]', CAST('["a", "b", "c", "d"]' AS JSON), '$[1][2]', 0) -> [1, ["a", "b", 0, "c", "d"], 2, 3]
        "#,
    );
}

#[test]
fn replacements() {
    check(
        r#"
        JSON_SET(NULL, '$.b', 1) -> NULL
        JSON_SET('[1,2,3]', NULL, 1) -> NULL
        JSON_SET('[', '$[0]', 0) -> ERROR 3141
        JSON_SET('[1,2,3]', '$[2]', 4) -> [1, 2, 4]
        JSON_SET('[1,2,3]', '$[10]', 4) -> [1, 2, 3, 4]
        JSON_SET('{"c":4}', '$.c', 5) -> {"c": 5}
        JSON_SET('{"c":4}', '$.a', 5) -> {"a": 5, "c": 4}
        JSON_SET('1', '$', 4) -> 4
        JSON_SET('1', '$[0]', 4) -> 4
        JSON_SET('1', '$[1]', 4) -> [1, 4]
        JSON_SET('1', '$[last-1]', 4) -> [4, 1]
        JSON_SET('[]', '$[0][0]', 100) -> []
        JSON_SET('[[1]]', '$[0][0][0]', 100) -> [[100]]
        JSON_SET('{"a": 3}', '$.a[0]', 4) -> {"a": 4}
        JSON_SET('{"a": 3}', '$.a[1]', 4, '$.a[2]', '5') -> {"a": [3, 4, "5"]}
        JSON_SET('{"a": "foo"}', '$.a', JSON_OBJECT('b', 0), '$.a.c', 1) -> {"a": {"b": 0, "c": 1}}
        JSON_SET('[1,2,3]', '$[*]', 4) -> ERROR 3149
        JSON_SET(JSON_ARRAY(JSON_MERGE_PRESERVE('{"a":1}', '{"a":2}')), '$[0].a', 123) -> [{"a": 123}]
        JSON_REPLACE('[1,2,3]', '$[2]', NULL) -> [1, 2, null]
        JSON_REPLACE('[1,2,3]', '$[3]', 4) -> [1, 2, 3]
        JSON_REPLACE('[1,2,3]', '$[last-1]', 4) -> [1, 4, 3]
        JSON_REPLACE('{"c":4}', '$.a', 5) -> {"c": 4}
        JSON_REPLACE('1', '$[0]', 4) -> 4
        JSON_REPLACE('1', '$[1]', 4) -> 1
        JSON_REPLACE('[1,2,3]', '$[2][2]', 4) -> [1, 2, 3]
        JSON_REPLACE('{"a": 3}', '$.a[1]', 4) -> {"a": 3}
        JSON_REMOVE(NULL, '$.a') -> NULL
        JSON_REMOVE('[1]', NULL) -> NULL
        JSON_REMOVE('[1]', '$') -> ERROR 3165
        JSON_REMOVE('[1]', '$.') -> ERROR 3143
        JSON_REMOVE('[1]', '$[*]') -> ERROR 3149
        JSON_REMOVE('["a", ["b", "c"], "d"]', '$[1]') -> ["a", "d"]
        JSON_REMOVE('{"a": [1, 2], "b": 3}', '$.a[0]', '$.b') -> {"a": [2]}
        JSON_REMOVE('{"a": 1}', '$.a[0]') -> {}
        JSON_REMOVE('{"a": 1}', '$[last].a[last][0]') -> {}
        JSON_REMOVE('{"a": 1}', '$.a[1]') -> {"a": 1}
        JSON_REMOVE('1', '$[0]') -> 1
        JSON_REMOVE('[[1], 2]', '$[1][0]') -> [[1]]
        JSON_REMOVE('[1,2,3]', '$[last]') -> [1, 2]
        JSON_REMOVE('[1,2,3]', '$[last-2]') -> [2, 3]
        JSON_REMOVE('[1,2,3]', '$[last-3]') -> [1, 2, 3]
        "#,
    );
}

#[test]
fn merges() {
    check(
        r#"
        JSON_MERGE_PATCH('[1, 2]', '[true, false]') -> [true, false]
        JSON_MERGE_PATCH('{"name": "x"}', '{"id": 47}') -> {"id": 47, "name": "x"}
        JSON_MERGE_PATCH('1', 'true') -> true
        JSON_MERGE_PATCH('[1, 2]', '{"id": 47}') -> {"id": 47}
        JSON_MERGE_PATCH('{"a": 1, "b":2}', '{"a": 3, "c":4}') -> {"a": 3, "b": 2, "c": 4}
        JSON_MERGE_PATCH('{"a": 1, "b":2}', '{"a": 3, "c":4}', '{"a": 5, "d":6}') -> {"a": 5, "b": 2, "c": 4, "d": 6}
        JSON_MERGE_PATCH('{"a":1, "b":2}', '{"b":null}') -> {"a": 1}
        JSON_MERGE_PATCH('{"a":{"x":1}}', '{"a":{"y":2}}') -> {"a": {"x": 1, "y": 2}}
        JSON_MERGE_PATCH('{}', '{"a": {"b": null, "c": 1}}') -> {"a": {"c": 1}}
        JSON_MERGE_PATCH('{"a":1}', NULL) -> NULL
        JSON_MERGE_PATCH(NULL, '{"a":1}') -> NULL
        JSON_MERGE_PATCH(NULL, '[1,2,3]') -> [1, 2, 3]
        JSON_MERGE_PATCH('1', '[') -> ERROR 3141
        JSON_MERGE_PRESERVE('[1, 2]', '[true, false]') -> [1, 2, true, false]
        JSON_MERGE_PRESERVE('{"name": "x"}', '{"id": 47}') -> {"id": 47, "name": "x"}
        JSON_MERGE_PRESERVE('1', 'true') -> [1, true]
        JSON_MERGE_PRESERVE('[1, 2]', '{"id": 47}') -> [1, 2, {"id": 47}]
        JSON_MERGE_PRESERVE('{"a": 1, "b": 2}', '{"a": 3, "c": 4}') -> {"a": [1, 3], "b": 2, "c": 4}
        JSON_MERGE_PRESERVE('{"a": 1, "b": 2}', '{"a": 3, "c": 4}', '{"a": 5, "d": 6}') -> {"a": [1, 3, 5], "b": 2, "c": 4, "d": 6}
        JSON_MERGE_PRESERVE('{"a": {"x": 1}}', '{"a": {"x": 2}}') -> {"a": {"x": [1, 2]}}
        JSON_MERGE_PRESERVE('1', NULL) -> NULL
        JSON_MERGE_PRESERVE(1, '1') -> ERROR 3146
        JSON_MERGE('[1]', '2') -> [1, 2]
        "#,
    );
}
