//! Operators and functions, a line each.

use super::check;

#[test]
fn logic() {
    check(
        "
        1 AND 1 -> 1
        1 AND 0 -> 0
        NULL AND 0 -> 0
        0 AND NULL -> 0
        NULL AND 1 -> NULL
        NULL OR 1 -> 1
        NULL OR 0 -> NULL
        0 OR 0 -> 0
        1 XOR 1 -> 0
        1 XOR 0 -> 1
        1 XOR NULL -> NULL
        NOT 1 -> 0
        NOT NULL -> NULL
        NOT 0 -> 1
        NULL IS NULL -> 1
        1 IS NULL -> 0
        1 IS NOT NULL -> 1
        NULL IS TRUE -> 0
        NULL IS NOT TRUE -> 1
        5 IS TRUE -> 1
        0 IS FALSE -> 1
        0.1 IS TRUE -> 1
        'a' IS TRUE -> 0 [1292]
        '1a' AND 1 -> 1 [1292]
        '0.5' OR 0 -> 1
        NULL <=> NULL -> 1
        NULL <=> 1 -> 0
        1 <=> 1 -> 1
        2 BETWEEN 1 AND 3 -> 1
        2 NOT BETWEEN 1 AND 3 -> 0
        2 BETWEEN 3 AND NULL -> 0
        2 BETWEEN 1 AND NULL -> NULL
        NULL BETWEEN 1 AND 2 -> NULL
        2 NOT BETWEEN 3 AND NULL -> 1
        1 IN (1, 2) -> 1
        3 IN (1, 2) -> 0
        3 IN (1, NULL) -> NULL
        1 IN (1, NULL) -> 1
        NULL IN (1, 2) -> NULL
        3 NOT IN (1, 2) -> 1
        3 NOT IN (1, NULL) -> NULL
        1 NOT IN (1, NULL) -> 0
        'A' IN ('a', 'b') -> 1
        CASE WHEN 1 > 2 THEN 'a' WHEN 2 > 1 THEN 'b' ELSE 'c' END -> b
        CASE 3 WHEN 1 THEN 'one' WHEN 2 THEN 'two' END -> NULL
        CASE 'B' WHEN 'a' THEN 1 WHEN 'b' THEN 2 ELSE 3 END -> 2
        CASE NULL WHEN NULL THEN 1 ELSE 2 END -> 2
        IF(1 < 2, 'yes', 'no') -> yes
        IF(NULL, 'yes', 'no') -> no
        IFNULL(NULL, 5) -> 5
        IFNULL(1, 5) -> 1
        COALESCE(NULL, NULL, 3, 4) -> 3
        COALESCE(NULL, NULL) -> NULL
        NULLIF(1, 1) -> NULL
        NULLIF(1, 2) -> 1
        ISNULL(NULL) -> 1
        ISNULL(0) -> 0
        ",
    );
}

#[test]
fn comparison() {
    check(
        "
        1 = 1.0 -> 1
        1 = 1e0 -> 1
        1 = '1' -> 1
        1 = '1.0' -> 1
        1 = '1abc' -> 1 [1292]
        0 = 'abc' -> 1 [1292]
        2 > '10' -> 0
        '2' > '10' -> 1
        'a' = 'A' -> 1
        'a' = 'A' COLLATE utf8mb4_bin -> 0
        'a' COLLATE utf8mb4_0900_as_cs = 'A' -> 0
        'a' < 'b' -> 1
        'ä' = 'a' -> 1
        'a ' = 'a' -> 0
        'a ' = 'a' COLLATE utf8mb4_general_ci -> 1
        X'61' = 'a' -> 1
        X'61' = 'A' -> 0
        18446744073709551615 > -1 -> 1
        9223372036854775807 < 9223372036854775808 -> 1
        9223372036854775807 = 9223372036854775807.0 -> 1
        0.1 + 0.2 = 0.3 -> 1
        0.1e0 + 0.2e0 = 0.3e0 -> 0
        1.10 = 1.1 -> 1
        DATE '2024-01-02' = '2024-01-02' -> 1
        DATE '2024-01-02' = '2024-1-2' -> 1
        DATE '2024-01-02' < '2024-01-02 00:00:01' -> 1
        DATE '2024-01-02' = 20240102 -> 1
        TIMESTAMP '2024-01-02 03:04:05' = 20240102030405 -> 1
        TIMESTAMP '2024-01-02 03:04:05' > DATE '2024-01-02' -> 1
        TIMESTAMP '2024-01-02 00:00:00' = DATE '2024-01-02' -> 1
        DATE '2024-01-02' = 'abc' -> ERROR 1525
        TIME '10:00:00' = '10:00' -> 1
        TIME '10:00:00' = 100000 -> 1
        TIME '10:00:00' < '9:00:00' -> 0
        TIME '12:00:00' = TIMESTAMP '2024-02-29 12:00:00' -> 1
        NULL = NULL -> NULL
        NULL <> 1 -> NULL
        1 <> 2 -> 1
        1 != 1 -> 0
        1 >= 1 -> 1
        2 <= 1 -> 0
        STRCMP('a', 'b') -> -1
        STRCMP('b', 'A') -> 1
        STRCMP('a', 'A') -> 0
        GREATEST(1, 3, 2) -> 3
        LEAST(1, 3, 2) -> 1
        GREATEST(1, NULL) -> NULL
        GREATEST('b', 'a') -> b
        GREATEST(1, 2.5) -> 2.5
        LEAST(DATE '2024-01-02', DATE '2023-01-02') -> 2023-01-02
        INTERVAL(23, 1, 15, 17, 30, 44, 200) -> 3
        INTERVAL(22, 23, 30, 44, 200) -> 0
        INTERVAL(NULL, 1) -> -1
        ",
    );
}

#[test]
fn arithmetic() {
    check(
        "
        1 + 1 -> 2
        1 - 2 -> -1
        3 * 4 -> 12
        7 / 2 -> 3.5000
        1 / 3 -> 0.3333
        1.0 / 3 -> 0.33333
        1 / 3.00 -> 0.3333
        2.50 / 5 -> 0.500000
        7 DIV 2 -> 3
        -7 DIV 2 -> -3
        7.9 DIV 2 -> 3
        7 % 3 -> 1
        -7 % 3 -> -1
        7 % -3 -> 1
        5.5 % 2 -> 1.5
        5.5e0 % 2 -> 1.5
        MOD(29, 9) -> 2
        7 MOD 3 -> 1
        1 / 0 -> NULL [1365]
        1 DIV 0 -> NULL [1365]
        1 % 0 -> NULL [1365]
        1.5 + 1 -> 2.5
        1.50 + 1.5 -> 3.00
        1.5 * 1.5 -> 2.25
        1.1e0 + 1 -> 2.1
        '3' + 4 -> 7
        '3abc' + 4 -> 7 [1292]
        'abc' + 1 -> 1 [1292]
        ' 5 ' * 2 -> 10
        '1e2' + 0 -> 100
        '.5' + 0 -> 0.5
        NULL + 1 -> NULL
        NULL * 0 -> NULL
        9223372036854775807 + 1 -> ERROR 1690
        -9223372036854775807 - 2 -> ERROR 1690
        9223372036854775807 * 2 -> ERROR 1690
        9223372036854775808 + 0 -> 9223372036854775808
        18446744073709551615 + 1 -> ERROR 1690
        18446744073709551615 * 18446744073709551615 -> ERROR 1690
        CAST(1 AS UNSIGNED) - 2 -> ERROR 1690
        CAST(3 AS UNSIGNED) - 2 -> 1
        CAST(1 AS UNSIGNED) + -2 -> ERROR 1690
        -9223372036854775808 -> -9223372036854775808
        -(-9223372036854775807 - 1) -> 9223372036854775808
        -18446744073709551615 -> -18446744073709551615
        (-9223372036854775807 - 1) DIV -1 -> ERROR 1690
        (-9223372036854775807 - 1) % -1 -> 0
        1e308 * 10 -> ERROR 1690
        99999999999999999999 + 1 -> 100000000000000000000
        -1.5 -> -1.5
        -'2.5' -> -2.5
        1 + 2 * 3 -> 7
        (1 + 2) * 3 -> 9
        5 & 3 -> 1
        5 | 3 -> 7
        5 ^ 3 -> 6
        ~0 -> 18446744073709551615
        ~5 & 15 -> 10
        1 << 4 -> 16
        1 << 63 -> 9223372036854775808
        1 << 64 -> 0
        16 >> 2 -> 4
        1 >> 64 -> 0
        -1 >> 1 -> 9223372036854775807
        -1 & 255 -> 255
        '7' & 3 -> 3
        1.5 | 0 -> 2
        NULL | 1 -> NULL
        DATE '2024-01-02' + 0 -> 20240102
        TIME '10:11:12' + 0 -> 101112
        TIMESTAMP '2024-01-02 03:04:05' + 0 -> 20240102030405
        TIMESTAMP '2024-01-02 03:04:05.5' + 0 -> 20240102030405.5
        ",
    );
}

#[test]
fn printing_of_doubles() {
    check(
        "
        1e0 -> 1
        0e0 -> 0
        1.5e0 -> 1.5
        1e14 -> 100000000000000
        1e15 -> 1e15
        123456789012345e0 -> 123456789012345
        1234567890123456e0 -> 1.234567890123456e15
        1e-5 -> 0.00001
        1e-15 -> 0.000000000000001
        1e-16 -> 1e-16
        1.5e-16 -> 1.5e-16
        -2.5e20 -> -2.5e20
        0.1e0 + 0.2e0 -> 0.30000000000000004
        1e100 -> 1e100
        1.7976931348623157e308 -> 1.7976931348623157e308
        CAST(3.14159265 AS FLOAT) -> 3.14159
        CAST(1234567 AS FLOAT) -> 1234570
        CAST(0.1 AS FLOAT) -> 0.1
        CAST(1e20 AS FLOAT) -> 1e20
        1 / 3e0 -> 0.3333333333333333
        ",
    );
}

#[test]
fn casts() {
    check(
        "
        CAST('12' AS SIGNED) -> 12
        CAST('12abc' AS SIGNED) -> 12 [1292]
        CAST('abc' AS SIGNED) -> 0 [1292]
        CAST('' AS SIGNED) -> 0 [1292]
        CAST('1.9' AS SIGNED) -> 1 [1292]
        CAST(1.5 AS SIGNED) -> 2
        CAST(2.5 AS SIGNED) -> 3
        CAST(-1.5 AS SIGNED) -> -2
        CAST(2.5e0 AS SIGNED) -> 2
        CAST(1.4e0 AS SIGNED) -> 1
        CAST(-1 AS UNSIGNED) -> 18446744073709551615
        CAST('-1' AS UNSIGNED) -> 18446744073709551615 [1105]
        CAST(18446744073709551615 AS SIGNED) -> -1
        CAST(1 AS UNSIGNED) -> 1
        CAST(NULL AS SIGNED) -> NULL
        CAST(DATE '2024-01-02' AS SIGNED) -> 20240102
        CAST(1.239 AS DECIMAL(4,2)) -> 1.24
        CAST('1.239' AS DECIMAL(4,2)) -> 1.24
        CAST(123.456 AS DECIMAL) -> 123
        CAST(12345 AS DECIMAL(4,1)) -> 999.9 [1264]
        CAST('abc' AS DECIMAL(4,1)) -> 0.0 [1292]
        CAST(5 AS DECIMAL(5,2)) -> 5.00
        CAST('1e2' AS DECIMAL(6,2)) -> 100.00
        CAST('12.5xyz' AS DOUBLE) -> 12.5 [1292]
        CAST(12.50 AS DOUBLE) -> 12.5
        CAST(123 AS CHAR) -> 123
        CAST(12.50 AS CHAR) -> 12.50
        CAST('abcdef' AS CHAR(3)) -> abc [1292]
        CAST('äöü' AS CHAR(2)) -> äö [1292]
        CAST(1e20 AS CHAR) -> 1e20
        CAST('abc' AS BINARY(5)) = X'6162630000' -> 1
        CAST('abc' AS BINARY) = X'616263' -> 1
        CAST('2024-01-02' AS DATE) -> 2024-01-02
        CAST('2024-01-02 10:11:12' AS DATE) -> 2024-01-02
        CAST('20240102' AS DATE) -> 2024-01-02
        CAST('24-1-2' AS DATE) -> 2024-01-02
        CAST(20240102 AS DATE) -> 2024-01-02
        CAST('2024-02-30' AS DATE) -> NULL [1292]
        CAST('abc' AS DATE) -> NULL [1292]
        CAST('0000-00-00' AS DATE) -> NULL [1292]
        CAST('2024-01-02' AS DATETIME) -> 2024-01-02 00:00:00
        CAST('2024-01-02 03:04:05.678' AS DATETIME) -> 2024-01-02 03:04:06
        CAST('2024-01-02 03:04:05.678' AS DATETIME(2)) -> 2024-01-02 03:04:05.680000
        CAST('2024-12-31 23:59:59.9' AS DATETIME) -> 2025-01-01 00:00:00
        CAST(20240102030405 AS DATETIME) -> 2024-01-02 03:04:05
        CAST('10:11:12' AS TIME) -> 10:11:12
        CAST('-10:11:12' AS TIME) -> -10:11:12
        CAST(101112 AS TIME) -> 10:11:12
        CAST('2024-01-02 10:11:12' AS TIME) -> 10:11:12
        CAST('10:11:12.6' AS TIME) -> 10:11:13
        CAST(TIME '10:11:12' AS DATETIME) -> 2024-02-29 10:11:12
        CAST(TIMESTAMP '2024-01-02 03:04:05' AS DATE) -> 2024-01-02
        CAST(TIMESTAMP '2024-01-02 03:04:05' AS TIME) -> 03:04:05
        CAST(TIMESTAMP '2024-01-02 03:04:05' AS CHAR) -> 2024-01-02 03:04:05
        ",
    );
}

#[test]
fn like_and_regexp() {
    check(
        "
        'abc' LIKE 'a%' -> 1
        'abc' LIKE 'A_C' -> 1
        'abc' LIKE 'a' -> 0
        'abc' NOT LIKE 'b%' -> 1
        'a%c' LIKE 'a\\%c' -> 1
        'abc' LIKE 'a\\%c' -> 0
        'a%c' LIKE 'a|%c' ESCAPE '|' -> 1
        'abc' LIKE 'a|%c' ESCAPE '|' -> 0
        '' LIKE '%' -> 1
        NULL LIKE 'a' -> NULL
        'a' LIKE NULL -> NULL
        123 LIKE '1%' -> 1
        'ABC' LIKE 'abc' COLLATE utf8mb4_bin -> 0
        X'414243' LIKE 'a%' -> 0
        X'414243' LIKE 'A%' -> 1
        'abc' REGEXP '^a.c$' -> 1
        'ABC' REGEXP 'b' -> 1
        'ABC' REGEXP 'b' COLLATE utf8mb4_bin -> 0
        'abc' NOT REGEXP 'x' -> 1
        'abc' REGEXP '(' -> ERROR 3691
        'a' REGEXP NULL -> NULL
        REGEXP_LIKE('ABC', 'abc', 'c') -> 0
        REGEXP_SUBSTR('abc def', '[a-z]+$') -> def
        REGEXP_INSTR('äbc', 'c') -> 3
        REGEXP_REPLACE('a1b22', '[0-9]+', '#') -> a#b#
        REGEXP_REPLACE('2024-01-05', '([0-9]+)-([0-9]+)-([0-9]+)', '$3_$2_$1') -> 05_01_2024
        REGEXP_REPLACE('abc', '(b)', '[$1x$0$12]') -> a[bxbb2]c
        REGEXP_REPLACE('abc', 'b', '\\\\$1') -> a$1c
        ",
    );
}

#[test]
fn numeric_functions() {
    check(
        "
        ABS(-5) -> 5
        ABS(-5.5) -> 5.5
        ABS('-3') -> 3
        ABS(-9223372036854775807 - 1) -> ERROR 1690
        CEIL(1.2) -> 2
        CEILING(-1.2) -> -1
        CEIL(1.2e0) -> 2
        FLOOR(-1.2) -> -2
        FLOOR(5) -> 5
        ROUND(1.5) -> 2
        ROUND(2.5) -> 3
        ROUND(-2.5) -> -3
        ROUND(2.5e0) -> 2
        ROUND(1.298, 1) -> 1.3
        ROUND(1.298, 0) -> 1
        ROUND(23.298, -1) -> 20
        ROUND(25, -1) -> 30
        ROUND(-25, -1) -> -30
        ROUND(1234, -5) -> 0
        ROUND(1.5, NULL) -> NULL
        ROUND(150.000, 2) -> 150.00
        ROUND(15, 2) -> 15
        TRUNCATE(1.999, 1) -> 1.9
        TRUNCATE(-1.999, 1) -> -1.9
        TRUNCATE(122, -2) -> 100
        TRUNCATE(1.999e0, 1) -> 1.9
        SIGN(-32) -> -1
        SIGN(0) -> 0
        SIGN(0.5) -> 1
        POW(2, 10) -> 1024
        POW(2, -2) -> 0.25
        POW(10, 400) -> ERROR 1690
        SQRT(16) -> 4
        SQRT(-1) -> NULL
        EXP(0) -> 1
        EXP(1000) -> ERROR 1690
        LN(1) -> 0
        LN(0) -> NULL [3020]
        LOG(2, 8) -> 3
        LOG(1, 8) -> NULL [3020]
        LOG2(1024) -> 10
        LOG10(1000) -> 3
        LOG(-2) -> NULL [3020]
        PI() -> 3.141592653589793
        SIN(0) -> 0
        COS(0) -> 1
        ATAN(1, 1) -> 0.7853981633974483
        ACOS(2) -> NULL
        COT(0) -> ERROR 1690
        DEGREES(PI()) -> 180
        RADIANS(180) -> 3.141592653589793
        CRC32('MySQL') -> 3259397556
        CRC32(NULL) -> NULL
        CONV('a', 16, 2) -> 1010
        CONV('6E', 18, 8) -> 172
        CONV(-17, 10, -18) -> -H
        CONV(10, 10, 16) -> A
        CONV('ff', 16, 10) -> 255
        CONV(-1, 10, 16) -> FFFFFFFFFFFFFFFF
        CONV(10, 1, 10) -> NULL
        BIN(12) -> 1100
        OCT(12) -> 14
        HEX(255) -> FF
        HEX('abc') -> 616263
        HEX(-1) -> FFFFFFFFFFFFFFFF
        UNHEX('4D7953514C') -> MySQL
        UNHEX('GG') -> NULL [1411]
        BIT_COUNT(29) -> 4
        BIT_COUNT(-1) -> 64
        FORMAT(12332.123456, 4) -> 12,332.1235
        FORMAT(12332.1, 4) -> 12,332.1000
        FORMAT(12332.2, 0) -> 12,332
        FORMAT(-1234567.891, 2) -> -1,234,567.89
        FORMAT(123, 2) -> 123.00
        FORMAT(2.5, 0) -> 3
        FORMAT(2.5e0, 0) -> 2
        FORMAT('1.005', 2) -> 1.00
        FORMAT(1234567.5e0, 1) -> 1,234,567.5
        ",
    );
}

#[test]
fn string_functions() {
    check(
        "
        CONCAT('a', 'b', 'c') -> abc
        CONCAT('a', NULL) -> NULL
        CONCAT(1, 2.5, 'x') -> 12.5x
        CONCAT_WS(',', 'a', NULL, 'b') -> a,b
        CONCAT_WS(NULL, 'a') -> NULL
        LENGTH('äbc') -> 4
        CHAR_LENGTH('äbc') -> 3
        BIT_LENGTH('abc') -> 24
        LENGTH(1234) -> 4
        LOWER('ABC') -> abc
        UCASE('äbc') -> ÄBC
        LEFT('foobar', 3) -> foo
        LEFT('foobar', -1) -> ''
        LEFT('foobar', 100) -> foobar
        RIGHT('foobar', 4) -> obar
        RIGHT('foobar', 0) -> ''
        SUBSTRING('Quadratically', 5) -> ratically
        SUBSTRING('Quadratically', 5, 6) -> ratica
        SUBSTRING('Sakila', -3) -> ila
        SUBSTRING('Sakila', -5, 3) -> aki
        SUBSTRING('Sakila', 0) -> ''
        SUBSTRING('Sakila', -10) -> ''
        SUBSTR('abc', 2, -1) -> ''
        MID('abcdef', 2, 3) -> bcd
        SUBSTRING('äöü', 2, 1) -> ö
        HEX(SUBSTRING(X'010203', 2)) -> 0203
        SUBSTRING_INDEX('www.mysql.com', '.', 2) -> www.mysql
        SUBSTRING_INDEX('www.mysql.com', '.', -2) -> mysql.com
        SUBSTRING_INDEX('www.mysql.com', 'x', 1) -> www.mysql.com
        SUBSTRING_INDEX('www.mysql.com', '.', 0) -> ''
        LOCATE('bar', 'foobarbar') -> 4
        LOCATE('xbar', 'foobar') -> 0
        LOCATE('bar', 'foobarbar', 5) -> 7
        LOCATE('BAR', 'foobar') -> 4
        LOCATE('', 'abc') -> 1
        LOCATE('', 'abc', 4) -> 4
        LOCATE('', 'abc', 5) -> 0
        INSTR('foobarbar', 'bar') -> 4
        INSTR('äb', 'b') -> 2
        REPLACE('www.mysql.com', 'w', 'Ww') -> WwWwWw.mysql.com
        REPLACE('abc', '', 'x') -> abc
        REPLACE('aAa', 'a', 'b') -> bAb
        REPEAT('ab', 3) -> ababab
        REPEAT('ab', 0) -> ''
        REPEAT('ab', -1) -> ''
        LENGTH(REPEAT('a', 1000000)) -> 1000000
        REPEAT('a', 100000000000) -> NULL [1301]
        SPACE(100000000000) -> NULL [1301]
        CONCAT('[', SPACE(3), ']') -> [   ]
        REVERSE('abc') -> cba
        REVERSE('äb') -> bä
        LPAD('hi', 4, '??') -> ??hi
        LPAD('hi', 1, '??') -> h
        LPAD('hi', 7, 'abc') -> abcabhi
        RPAD('hi', 5, '?') -> hi???
        RPAD('hi', -1, '?') -> NULL
        LPAD('hi', 100000000000, '?') -> NULL [1301]
        CONCAT('[', LTRIM('  bar '), ']') -> [bar ]
        CONCAT('[', RTRIM(' bar  '), ']') -> [ bar]
        TRIM('  bar  ') -> bar
        TRIM('xxbarxx', 'x') -> bar
        LTRIM('xxxbarxxx', 'x') -> barxxx
        RTRIM('barxxyz', 'xyz') -> barx
        ASCII('2') -> 50
        ASCII('') -> 0
        ASCII('dx') -> 100
        ORD('2') -> 50
        ORD('ä') -> 50084
        CHAR(77, 121, 83, 81, 76) -> MySQL
        CHAR(77, NULL, 121) -> My
        HEX(CHAR(256)) -> 0100
        HEX(CHAR(0)) -> 00
        INSERT('Quadratic', 3, 4, 'What') -> QuWhattic
        INSERT('Quadratic', -1, 4, 'What') -> Quadratic
        INSERT('Quadratic', 3, 100, 'What') -> QuWhat
        ELT(1, 'Aa', 'Bb') -> Aa
        ELT(3, 'Aa', 'Bb') -> NULL
        ELT(0, 'Aa') -> NULL
        FIELD('Bb', 'Aa', 'Bb', 'Cc') -> 2
        FIELD('Gg', 'Aa', 'Bb') -> 0
        FIELD(NULL, 'a') -> 0
        FIELD(2, 1, 2, 3) -> 2
        FIND_IN_SET('b', 'a,b,c,d') -> 2
        FIND_IN_SET('x', 'a,b') -> 0
        FIND_IN_SET('a', '') -> 0
        FIND_IN_SET('B', 'a,b') -> 2
        QUOTE('Don\\'t!') -> 'Don\\'t!'
        QUOTE(NULL) -> NULL
        MAKE_SET(1 | 4, 'hello', 'nice', 'world') -> hello,world
        EXPORT_SET(5, 'Y', 'N', ',', 4) -> Y,N,Y,N
        EXPORT_SET(6, '1', '0', ',', 10) -> 0,1,1,0,0,0,0,0,0,0
        SOUNDEX('Hello') -> H400
        SOUNDEX('Quadratically') -> Q36324
        MD5('testing') -> ae2b1fca515949e5d54fb22b8ed95575
        SHA1('abc') -> a9993e364706816aba3e25717850c26c9cd0d89d
        SHA2('abc', 224) -> 23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7
        SHA2('abc', 1) -> NULL
        TO_BASE64('abc') -> YWJj
        FROM_BASE64(TO_BASE64('abc')) -> abc
        FROM_BASE64('!') -> NULL
        LENGTH(TO_BASE64(REPEAT('a', 60))) -> 81
        INET_ATON('10.0.5.9') -> 167773449
        INET_ATON('127.1') -> 2130706433
        INET_ATON('1.2.3') -> 16908291
        INET_ATON('1.2.3.256') -> NULL [1411]
        INET_NTOA(167773449) -> 10.0.5.9
        HEX(INET6_ATON('fdfe::5a55:caff:fefa:9089')) -> FDFE0000000000005A55CAFFFEFA9089
        INET6_NTOA(INET6_ATON('::1')) -> ::1
        IS_IPV4('10.0.5.256') -> 0
        IS_IPV6('::1') -> 1
        HEX(UUID_TO_BIN('6ccd780c-baba-1026-9564-5b8c656024db')) -> 6CCD780CBABA102695645B8C656024DB
        HEX(UUID_TO_BIN('6ccd780c-baba-1026-9564-5b8c656024db', 1)) -> 1026BABA6CCD780C95645B8C656024DB
        BIN_TO_UUID(UUID_TO_BIN('6ccd780c-baba-1026-9564-5b8c656024db', 1), 1) -> 6ccd780c-baba-1026-9564-5b8c656024db
        IS_UUID('6ccd780c-baba-1026-9564-5b8c656024db') -> 1
        UUID_TO_BIN('x') -> ERROR 1411
        ",
    );
}

#[test]
fn date_functions() {
    check(
        "
        DATE('2003-12-31 01:02:03') -> 2003-12-31
        TIME('2003-12-31 01:02:03') -> 01:02:03
        YEAR('1987-01-01') -> 1987
        YEAR('abc') -> NULL [1292]
        MONTH('2008-02-03') -> 2
        QUARTER('2008-04-01') -> 2
        DAY('2007-02-03') -> 3
        DAYOFMONTH('2001-11-00') -> 0
        MONTH('0000-00-00') -> NULL [1292]
        MONTH(0) -> 0
        DAYOFWEEK('2007-02-03') -> 7
        DAYOFYEAR('2007-02-03') -> 34
        WEEKDAY('2008-02-03 22:23:00') -> 6
        DAYNAME('2007-02-03') -> Saturday
        MONTHNAME('2008-02-03') -> February
        WEEK('2008-02-20') -> 7
        WEEK('2008-02-20', 0) -> 7
        WEEK('2008-02-20', 1) -> 8
        WEEK('2008-12-31', 1) -> 53
        WEEK('2000-01-01', 2) -> 52
        YEARWEEK('1987-01-01') -> 198652
        YEARWEEK('2000-01-01') -> 199952
        WEEKOFYEAR('2008-02-20') -> 8
        HOUR('10:05:03') -> 10
        HOUR('272:59:59') -> 272
        MINUTE('2008-02-03 10:05:03') -> 5
        SECOND('10:05:03') -> 3
        MICROSECOND('12:00:00.123456') -> 123456
        MICROSECOND('2019-12-31 23:59:59.000010') -> 10
        DATEDIFF('2007-12-31 23:59:59', '2007-12-30') -> 1
        DATEDIFF('2010-11-30 23:59:59', '2010-12-31') -> -31
        TIMEDIFF('2000-01-01 00:00:00', '2000-01-01 00:00:00.000001') -> -00:00:00.000001
        TIMEDIFF('10:00:00', '11:30:00') -> -01:30:00
        TIMEDIFF('2008-12-31 23:59:59.000001', '2008-12-30 01:01:01.000002') -> 46:58:57.999999
        TO_DAYS('2007-10-07') -> 733321
        TO_DAYS(950501) -> 728779
        FROM_DAYS(730669) -> 2000-07-03
        TO_SECONDS('2009-11-29') -> 63426672000
        LAST_DAY('2003-02-05') -> 2003-02-28
        LAST_DAY('2004-02-05') -> 2004-02-29
        LAST_DAY('2003-03-32') -> NULL [1292]
        MAKEDATE(2011, 31) -> 2011-01-31
        MAKEDATE(2011, 365) -> 2011-12-31
        MAKEDATE(2011, 0) -> NULL
        MAKETIME(12, 15, 30) -> 12:15:30
        MAKETIME(12, 60, 30) -> NULL
        MAKETIME(-1, 15, 30) -> -01:15:30
        SEC_TO_TIME(2378) -> 00:39:38
        SEC_TO_TIME(-2378) -> -00:39:38
        TIME_TO_SEC('22:23:00') -> 80580
        TIME_TO_SEC('00:39:38') -> 2378
        ADDTIME('2007-12-31 23:59:59.999999', '1 1:1:1.000002') -> 2008-01-02 01:01:01.000001
        ADDTIME('01:59:59.999999', '02:00:00.999998') -> 04:00:00.999997
        SUBTIME('2007-12-31 23:59:59.999999', '1 1:1:1.000002') -> 2007-12-30 22:58:58.999997
        TIMESTAMPDIFF(MONTH, '2003-02-01', '2003-05-01') -> 3
        TIMESTAMPDIFF(YEAR, '2002-05-01', '2001-01-01') -> -1
        TIMESTAMPDIFF(MINUTE, '2003-02-01', '2003-05-01 12:05:55') -> 128885
        TIMESTAMPDIFF(DAY, '2024-01-31', '2024-02-29') -> 29
        TIMESTAMPDIFF(MONTH, '2024-01-31', '2024-02-29') -> 0
        TIMESTAMPDIFF(WEEK, '2024-01-01', '2024-01-15') -> 2
        EXTRACT(YEAR FROM '2019-07-02') -> 2019
        EXTRACT(YEAR_MONTH FROM '2019-07-02 01:02:03') -> 201907
        EXTRACT(DAY_MINUTE FROM '2019-07-02 01:02:03') -> 20102
        EXTRACT(MICROSECOND FROM '2003-01-02 10:30:00.000123') -> 123
        EXTRACT(HOUR FROM '10:11:12') -> 10
        EXTRACT(WEEK FROM '2008-02-20') -> 7
        PERIOD_ADD(200801, 2) -> 200803
        PERIOD_DIFF(200802, 200703) -> 11
        PERIOD_ADD(200813, 2) -> ERROR 1210
        UNIX_TIMESTAMP('2015-11-13 10:20:19') -> 1447410019
        UNIX_TIMESTAMP('2015-11-13 10:20:19.012') -> 1447410019.012
        UNIX_TIMESTAMP('1960-01-01') -> 0
        FROM_UNIXTIME(1447430881) -> 2015-11-13 16:08:01
        FROM_UNIXTIME(1447430881, '%Y %D %M') -> 2015 13th November
        FROM_UNIXTIME(-1) -> NULL
        FROM_UNIXTIME(1.5) -> 1970-01-01 00:00:01.500000
        TIMESTAMP('2003-12-31') -> 2003-12-31 00:00:00
        TIMESTAMP('2003-12-31 12:00:00', '12:00:00') -> 2004-01-01 00:00:00
        CONVERT_TZ('2004-01-01 12:00:00', '+00:00', '+10:00') -> 2004-01-01 22:00:00
        CONVERT_TZ('2004-01-01 12:00:00', 'Mars', '+10:00') -> NULL
        ",
    );
}

#[test]
fn date_formats() {
    check(
        "
        DATE_FORMAT('2009-10-04 22:23:00', '%W %M %Y') -> Sunday October 2009
        DATE_FORMAT('2007-10-04 22:23:00', '%H:%i:%s') -> 22:23:00
        DATE_FORMAT('1900-10-04 22:23:00', '%D %y %a %d %m %b %j') -> 4th 00 Thu 04 10 Oct 277
        DATE_FORMAT('1997-10-04 22:23:00', '%H %k %I %r %T %S %w') -> 22 22 10 10:23:00 PM 22:23:00 00 6
        DATE_FORMAT('1999-01-01', '%X %V') -> 1998 52
        DATE_FORMAT('2006-06-00', '%d') -> 00
        DATE_FORMAT('2024-01-02 03:04:05.6', '%f %p %l %e %c %%') -> 600000 AM 3 2 1 %
        DATE_FORMAT('2024-01-02', '') -> NULL
        TIME_FORMAT('100:00:00', '%H %k %h %I %l') -> 100 100 04 04 4
        TIME_FORMAT('-10:20:30', '%H:%i:%s') -> -10:20:30
        STR_TO_DATE('01,5,2013', '%d,%m,%Y') -> 2013-05-01
        STR_TO_DATE('May 1, 2013', '%M %d,%Y') -> 2013-05-01
        STR_TO_DATE('a09:30:17', 'a%h:%i:%s') -> 09:30:17
        STR_TO_DATE('a09:30:17', '%h:%i:%s') -> NULL [1411]
        STR_TO_DATE('09:30:17a', '%h:%i:%s') -> 09:30:17 [1292]
        STR_TO_DATE('2013-02-30', '%Y-%m-%d') -> 2013-02-30
        STR_TO_DATE('2013-13-30', '%Y-%m-%d') -> NULL [1411]
        STR_TO_DATE('2024-03-04 05:06:07.5 PM', '%Y-%m-%d %h:%i:%s.%f %p') -> 2024-03-04 17:06:07.500000
        STR_TO_DATE('3 Jan 24', '%e %b %y') -> 2024-01-03
        STR_TO_DATE('2024-01-05 10:30', '%Y-%m-%d %H:%i:%s') -> 2024-01-05 10:30:00
        ",
    );
}

#[test]
fn intervals() {
    check(
        "
        DATE '2024-01-31' + INTERVAL 1 MONTH -> 2024-02-29
        DATE '2024-02-29' + INTERVAL 1 YEAR -> 2025-02-28
        DATE '2024-03-31' - INTERVAL 1 MONTH -> 2024-02-29
        DATE '2024-01-01' + INTERVAL 1 DAY -> 2024-01-02
        DATE '2024-01-01' + INTERVAL 1 HOUR -> 2024-01-01 01:00:00
        DATE '2024-01-01' + INTERVAL 1 WEEK -> 2024-01-08
        DATE '2024-01-01' + INTERVAL 1 QUARTER -> 2024-04-01
        '2024-01-31' + INTERVAL 1 DAY -> 2024-02-01
        '2024-01-31 10:00:00' + INTERVAL 1 DAY -> 2024-02-01 10:00:00
        '2024-01-31' + INTERVAL 90 MINUTE -> 2024-01-31 01:30:00
        DATE_ADD('2018-12-31 23:59:59', INTERVAL 1 SECOND) -> 2019-01-01 00:00:00
        DATE_SUB('2018-05-01', INTERVAL 1 YEAR) -> 2017-05-01
        DATE_ADD('2100-12-31 23:59:59', INTERVAL '1:1' MINUTE_SECOND) -> 2101-01-01 00:01:00
        DATE_SUB('2025-01-01 00:00:00', INTERVAL '1 1:1:1' DAY_SECOND) -> 2024-12-30 22:58:59
        DATE_ADD('1900-01-01 00:00:00', INTERVAL '-1 10' DAY_HOUR) -> 1899-12-30 14:00:00
        DATE_SUB('1998-01-02', INTERVAL 31 DAY) -> 1997-12-02
        DATE_ADD('1992-12-31 23:59:59.000002', INTERVAL '1.999999' SECOND_MICROSECOND) -> 1993-01-01 00:00:01.000001
        '2024-01-01 00:00:00' + INTERVAL 1.5 SECOND -> 2024-01-01 00:00:01.500000
        '2024-01-01 00:00:00' + INTERVAL '1-2' YEAR_MONTH -> 2025-03-01 00:00:00
        DATE '9999-12-31' + INTERVAL 1 DAY -> NULL [1441]
        DATE '2024-01-01' + INTERVAL NULL DAY -> NULL
        NULL + INTERVAL 1 DAY -> NULL
        'abc' + INTERVAL 1 DAY -> NULL [1292]
        '2024-02-30' + INTERVAL 1 DAY -> NULL [1292]
        TIME '10:00:00' + INTERVAL 90 MINUTE -> 11:30:00
        DATE '2024-01-01' + INTERVAL -1 DAY -> 2023-12-31
        DATE '2024-01-01' + INTERVAL 9223372036854775807 DAY -> NULL [1441]
        DATE '2024-01-01' - INTERVAL 9223372036854775807 MONTH -> NULL [1441]
        20240131 + INTERVAL 1 DAY -> 2024-02-01
        ",
    );
}
