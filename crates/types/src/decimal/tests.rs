use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher};

use proptest::prelude::*;

use super::{DIV_PRECISION_INCREMENT, Decimal, PRECISION_MAX, power};
use crate::wire::{Wire, WireError};

fn d(text: &str) -> Decimal {
    Decimal::parse(text).unwrap_or_else(|| panic!("{text} is a decimal"))
}

/// `operation` on texts gives a text: every row of the table.
fn check(
    operation: impl Fn(Decimal, Decimal) -> Option<Decimal>,
    table: &[(&str, &str, Option<&str>)],
) {
    for (left, right, expected) in table {
        let got = operation(d(left), d(right)).map(|value| value.to_string());
        assert_eq!(got.as_deref(), *expected, "{left} and {right}");
    }
}

const NINES: &str = "99999999999999999999999999999999999999999999999999999999999999999";

/// Text comes back as it went, with the scale it had; what is no number is refused.
#[test]
fn text_round_trip() {
    for text in ["0", "0.00", "-1", "1.50", "-0.001", "123456789012345678901234567890.5", NINES] {
        assert_eq!(d(text).to_string(), text);
    }
    let table = [
        (" 12.5 ", "12.5"),
        ("+7", "7"),
        (".5", "0.5"),
        ("5.", "5"),
        ("-0.0", "0.0"),
        ("1e3", "1000"),
        ("1.5E-3", "0.0015"),
        ("12e-1", "1.2"),
        ("000123.4500", "123.4500"),
        ("0.0000000000000000000000000000005", "0.000000000000000000000000000001"),
        ("0.0000000000000000000000000000004", "0.000000000000000000000000000000"),
        ("1e-400", "0.000000000000000000000000000000"),
        ("0e99999999999999999999", "0"),
    ];
    for (text, expected) in table {
        assert_eq!(d(text).to_string(), expected, "{text}");
    }
    for text in
        ["", " ", "-", ".", "e5", "1x", "1e", "1 2", "--1", "0x10", "1e71", "1e999999999999"]
    {
        assert_eq!(Decimal::parse(text), None, "{text}");
    }
    // One digit more than a column holds, and the last one that an expression does.
    assert_eq!(d(&format!("1{NINES}")).to_string(), format!("1{NINES}"));
    assert_eq!(d(&"9".repeat(71)).to_string(), "9".repeat(71));
    assert_eq!(Decimal::parse(&"9".repeat(72)), None);
}

/// A prefix is read as far as it is a number, and too large ones saturate.
#[test]
fn prefixes() {
    let table = [
        ("12abc", "12", 2),
        ("  -3.5.7", "-3.5", 6),
        ("1e5x", "100000", 3),
        ("1ex", "1", 1),
        ("1e+", "1", 1),
        ("abc", "0", 0),
        ("", "0", 0),
        ("  ", "0", 0),
        (".", "0", 0),
        ("-.", "0", 0),
    ];
    for (text, number, used) in table {
        let (got, got_used) = Decimal::parse_prefix(text.as_bytes());
        assert_eq!((got.to_string().as_str(), got_used), (number, used), "{text}");
    }
    assert_eq!(Decimal::parse_prefix(b"-1e71").0.to_string(), format!("-{NINES}"));
    // 71 nines and a fraction that rounds up have nowhere to go.
    let nines = "9".repeat(71);
    assert_eq!(Decimal::parse_prefix(format!("{nines}.9").as_bytes()).0.to_string(), NINES);
    // 70 nines and .99 keep 71 digits: the carry takes the last digit of the fraction.
    let carried = Decimal::parse_prefix(format!("{}.99", &nines[1..]).as_bytes()).0;
    assert_eq!(carried.to_string(), format!("1{}", "0".repeat(70)));
}

/// MySQL's scales and rounding; overflow and zero divisors have no result.
#[test]
fn arithmetic() {
    let nines = &"9".repeat(71);
    check(
        Decimal::add,
        &[
            ("1.5", "2.25", Some("3.75")),
            ("-1.5", "1.50", Some("0.00")),
            (NINES, "1", Some(&format!("1{}", "0".repeat(65)))),
            (nines, "1", None),
            (nines, "-1", Some(&format!("{}8", &nines[1..]))),
            // The fraction gives way to the 71 digits: 9..9 + 0.1 rounds back.
            (nines, "0.1", Some(nines)),
            (nines, "0.5", None),
            (nines, "0.000000000000000000000000000001", Some(nines)),
            (nines, "-0.000000000000000000000000000001", Some(nines)),
            ("-0.000000000000000000000000000001", nines, Some(nines)),
        ],
    );
    check(Decimal::sub, &[("1", "0.01", Some("0.99")), ("0", "5", Some("-5"))]);
    check(
        Decimal::mul,
        &[
            ("1.5", "-1.5", Some("-2.25")),
            ("0.5", "0", Some("0.0")),
            (nines, "2", None),
            // 10^-20 * 10^-20 shows 30 digits.
            (
                "0.00000000000000000001",
                "0.00000000000000000001",
                Some("0.000000000000000000000000000000"),
            ),
            (
                "1.00000000000000000001",
                "1.00000000000000000001",
                Some("1.000000000000000000020000000000"),
            ),
            // Beyond 256 bits, but not beyond 71 digits once the fraction is cut.
            (
                "1234567890123456789012345.678901234567890123456789012345",
                "1000000000000000000.000000000000000000000000000001",
                Some("1234567890123456789012345678901234567890123.4567902469128901234567890123"),
            ),
            // 37 digits behind the point, of which 30 show.
            (
                "0.7777777777777777777777777777777777777",
                "1000000000000000000",
                Some("777777777777777777.777777777777777777700000000000"),
            ),
        ],
    );
    check(
        |left, right| left.div(right, DIV_PRECISION_INCREMENT),
        &[
            ("2", "3", Some("0.6667")),
            ("-2", "3", Some("-0.6667")),
            ("1.00", "3", Some("0.333333")),
            ("1", "0.0000", None),
            ("0", "3", Some("0.0000")),
            (
                "10",
                "0.000000000000000000000000000001",
                Some("10000000000000000000000000000000.0000"),
            ),
            (nines, "0.1", None),
            (NINES, "1", Some(&format!("{NINES}.0000"))),
            (NINES, NINES, Some("1.0000")),
        ],
    );
    check(
        Decimal::rem,
        &[
            ("7", "3", Some("1")),
            ("-7", "3", Some("-1")),
            ("7.5", "-2", Some("1.5")),
            ("7", "0.30", Some("0.10")),
            ("1", "0", None),
            (NINES, "0.000000000000000000000000000007", Some("0.000000000000000000000000000004")),
            ("0.000000000000000000000000000005", NINES, Some("0.000000000000000000000000000005")),
        ],
    );
    check(
        Decimal::int_div,
        &[
            ("7", "2", Some("3")),
            ("-7.9", "2", Some("-3")),
            ("1.05", "0.1", Some("10")),
            ("0.05", NINES, Some("0")),
            ("1", "0", None),
            (NINES, "0.1", Some(&format!("{NINES}0"))),
            (nines, "0.1", None),
        ],
    );
}

/// Dividend, divisor, increment; the shown quotient; its product with 10^18 as shown. The results of a server that keeps
/// MySQL's words of nine digits, over random operands: a quotient is cut at whole words, not rounded.
#[test]
fn quotients_keep_whole_words() {
    let table = "
        0.79666972 2.7 7 0.295062859259259 295062859259259259.000000000000000
        5299367841883.68695896935049258991 851.94411771516204661099 4 6220323295.495152553980273894759072 6220323295495152553980273894.759072112739650227354905
        582710016817060933.3040119803 4315.2055526678698198463 4 135036444893523.38671172753868 135036444893523386711727538681842.76969736044565
        40667050.8506950699205755 363.900547499525255 4 111753.20051077451097748620 111753200510774510977486.19805309308221113500
        -112605155.092483435261 88464.3721539743 0 -1272.887065727336 -1272887065727336428009.452015696717
        -3307196006295511.451959 4442.7564696062307986 7 -744401821013.7531942056440 -744401821013753194205643986986.0918890582867
        7661672.8 30530014.1941300836 0 0.3 250955428690009826.0
        566536989081597.430 -984657.9 2 -575364285.48595 -575364285485951445674685593.00000
        64048363.05331812342079604 557993591.6075002010170188 2 0.1147833308780552407 114783330878055240.6720644579071339550
        5803744462.69 5386.612806 4 1077438.581853 1077438581853399321532745.000000
        48925.7 697417926311.09605756670338491 2 0.000 70152627505.270
        -497699389878.5584 93336199820.861 4 -5.33232969 -5332329694521381941.00000000
        84704966245507448.072 552815.1 7 153224769449.1475505499 153224769449147550549903575354.0000000000
        29289299558.51017 4905.109883181808592132 4 5971181.126631768 5971181126631767642707038.763741570
        4665108489793404012.5965861683626998726221 7433204.9224329853846999 2 627603912239.036303433234577056184483 627603912239036303433234577056.184483345046879823176729
        287863349 180614.953572 7 1593.7957700 1593795769990034100696.0000000
        -231660223732526.7980716073313433422904 0.2611114405 7 -887208248282506.02091717743536918019645332239 -887208248282506020917177435369180.19645332238898969269789616800
        4421171358 -81753.397628514161784 7 -54079.3592223 -54079359222349584672905.0379434
        -50562155654.744159881785049222571 44497191.9684 4 -1136.2999195691098292262783644 -1136299919569109829226.2783643992950457410000000
        198589762437705.112889651 -914924.2 4 -217055972.9841063477058 -217055972984106347705800108.0000000000000
        93341185.8556781 4.9119 7 19003071.28721637248315 19003071287216372483153158.00000000000000
        714.39662 24.882923454076 4 28.710316990 28710316989822059993.898557906
        9919677952.78470930137287338 59622500.19422719005938178055 4 166.374739745401670573400 166374739745401670573.400363933044634067916
        9848.01 8301.363751 4 1.186312 1186312309084599225.000000
        90.267718 500.40776727045578596303 4 0.1803883231 180388323091741568.2312341894
        8746.32302968202192 2.6 4 3363.970396031546892308 3363970396031546892307.692307692000000000
        0.3606703316732591519044 8196841.384055510 0 0.0000000440011358978880 44001135897.8880356544310843450000
        120812207371951560.0102807038537575064 1260287432.618685862685 4 95860836.38152460426652221052028 95860836381524604266522210.52028310706786883455431
        7817825764922.75428967022071 1374756484.909 4 5686.698590434540748065 5686698590434540748065.475696282000000000
        233517771642.13615941713302290134 -527.68958372910190134 4 -442528673.755319634544805709032327 -442528673755319634544805709.032327462343790924672555
        914078391895.9175697 7269.6318074155371856198 4 125739296.86005460939 125739296860054609387586601.94617279364
        3.6714352339 59496316642.53967679040210248 7 0.00000000006170861 61708613.92913415262199489
        839001223161344.3 361536.7 7 2320652988.09593687 2320652988095936871692417394.00000000
        -110983728.7467 97.465264778835440 4 -1138700.32568567 -1138700325685670238542191.99642333
        9708075403376.2402007077898658 1208.28165 4 8034612959.13600955597379954069 8034612959136009555973799540.69483716800000000000
        -37988589.82952806737994 590287479.1724416150877345266 4 -0.064356082705305698 -64356082705305698.238463340126305277
        989650.5 295643.02646173318110416 4 3.34745 3347450849235898670.55578
        76859682735537.80237222 86.60260224322082 4 887498536356.675294938016 887498536356675294938016092073.467687641000
        399.2041212426591 0.27315871570 4 1461.43651400488371823 1461436514004883718231.65662950874680804
        -65311022472614.884728763942425432 0.9219021695841 4 -70843766971585.2902399028571938469331 -70843766971585290239902857193846.9331370821477638040000
        83099655759887.9357895595 759617305199.54442198353 4 109.39673858280312 109396738582803121924.88916004903447
        4360361600720420368.663158308 -6.8504585675197 2 -636506528394222156.58175238376 -636506528394222156581752383763371980.72395488100
        -0.19021356430 -62424606104.5375918637 4 0.000000000003047 3047092.743868728020015
        203915472.12916056072742638 708500621.46411175105761569353 0 0.28781269338588668 287812693385886683.11625074055534191
        8.08839123786457833945 -68.598559837064373217 4 -0.117909053150330908081587 -117909053150330908.081586949232329799262294
        203218138267.057360 -29287.244540513347 2 -6938793.37081177 -6938793370811774948886123.09737330
        -3508441.359328698692475 -506203267203.70924867368756972 4 0.0000069308943395595 6930894339559.4707094741571608440
        6800848582.1582 9048308.27570953918949485640 4 751.61548158 751615481582925992912.84254165
        -49300903341.9234396158257 205747.68951097328211 0 -239618.2599138934236 -239618259913893423581231.7258346146228
        345811551372.64174534131756245 -73.83334551 7 -4683677124.258238766909663801986372 -4683677124258238766909663801.986371618229547566000000
        79622269047243.9664484962002 0.283540 4 280814943384510.00369787754884672 280814943384510003697877548846723.56633984600000000
        -21981573117.317642 -95782.2421912101867897420 7 229495.2865421108580 229495286542110858011839.1822838822934
        -571259954136.58551 11.875377305332 0 -48104572970.50191 -48104572970501907920120047635.86921
        631279356989.1893410609 -582.84963896412788 4 -1083091272.23812541668157 -1083091272238125416681571803.32791000582158
        9582055602420151646.2482 16388412.171736000 0 584684806679.7882 584684806679788236120015013150.0000
        1 3 4 0.3333 333333333000000000.0000
        2000.0 250000000.0 4 0.00001 8000000000000.00000
        64 77 4 0.8312 831168831000000000.0000
        1 0.000000000000000000000000000001 4 1000000000000000000000000000000.0000 1000000000000000000000000000000000000000000000000.0000
        1 999999999 4 0.0000 1000000000.0000
        0.000000001 3 4 0.0000000003333 333333333.0000000000000
        1 3 0 0 0
        1.0 3 0 0.3 333333333000000000.0
        10 4 0 2 2000000000000000000
    ";
    let unit = d("1000000000000000000");
    let mut count = 0;
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let mut fields = line.split(' ');
        let mut next = || fields.next().expect("five fields");
        let (left, right) = (d(next()), d(next()));
        let increment = next().parse().expect("a number");
        let quotient = left.div(right, increment).expect("no overflow");
        assert_eq!(quotient.to_string(), next(), "{line}");
        assert_eq!(quotient.mul(unit).expect("no overflow").to_string(), next(), "{line}");
        count += 1;
    }
    assert!(count > 60);
}

/// The shown digits differ from the computed ones.
#[test]
fn hidden_digits() {
    let third = d("1").div(d("3"), DIV_PRECISION_INCREMENT).unwrap();
    assert_eq!((third.to_string(), third.shown_scale()), ("0.3333".into(), 4));
    assert!(third > d("0.3333"));
    assert!(third.as_shown() == d("0.3333"));
    assert_eq!(third.mul(d("3")).unwrap().to_string(), "1.0000");
    assert_eq!(third.neg().to_string(), "-0.3333");
    assert_eq!(third.add(d("0.00001")).unwrap().to_string(), "0.33334");
    assert_eq!(third.rescale(10).unwrap().to_string(), "0.3333333330");
    assert_eq!(third.show(7).to_string(), "0.3333333");
    assert_eq!(third.show(12).to_string(), "0.333333333000");
    assert_eq!(third.round(6).unwrap().to_string(), "0.333333");
    let back = Decimal::from_bytes(&third.to_bytes()).unwrap();
    assert_eq!((back, back.shown_scale()), (third, 4));
    assert_eq!(hash(third), hash(d("0.333333333")));
}

/// 999..9 modulo 7 * 10^-30 really is what the table above says: 10^95 is 10^(95 mod 6) = 10^5 = 5 modulo 7, less
/// 10^30 = 1, which is 4.
#[test]
fn remainder_by_hand() {
    let cycle: Vec<u32> = (0..6).map(|exponent| 10u32.pow(exponent) % 7).collect();
    assert_eq!((cycle[95 % 6] + 7 - cycle[30 % 6]) % 7, 4);
}

#[test]
fn rounding() {
    let table = [
        ("1.55", 1, "1.6", "1.5"),
        ("-1.55", 1, "-1.6", "-1.5"),
        ("1.45", 0, "1", "1"),
        ("1.5", 0, "2", "1"),
        ("-0.5", 0, "-1", "0"),
        ("155", -1, "160", "150"),
        ("155", -2, "200", "100"),
        ("155", -3, "0", "0"),
        ("555", -3, "1000", "0"),
        ("155", -90, "0", "0"),
        ("1.5", 5, "1.5", "1.5"),
    ];
    for (text, digits, rounded, truncated) in table {
        assert_eq!(d(text).round(digits).unwrap().to_string(), rounded, "round {text} {digits}");
        assert_eq!(d(text).truncate(digits).to_string(), truncated, "truncate {text} {digits}");
    }
    assert_eq!(d(&"9".repeat(71)).round(-1), None);
    assert_eq!(d("1.2").ceil(), Some(d("2")));
    assert_eq!(d("-1.2").ceil(), Some(d("-1")));
    assert_eq!(d("1.2").floor(), Some(d("1")));
    assert_eq!(d("-1.2").floor(), Some(d("-2")));
    assert_eq!(d("2.00").floor().unwrap().to_string(), "2");
    assert_eq!(d("0.5").to_i64_round(), Some(1));
    assert_eq!(d("-9223372036854775808.4").to_i64_round(), Some(i64::MIN));
    assert_eq!(d("9223372036854775807.5").to_i64_round(), None);
    assert_eq!(d("-1").to_u64_round(), None);
    assert_eq!(d("18446744073709551615").to_u64_round(), Some(u64::MAX));
}

#[test]
fn digits_and_fit() {
    let table = [("0", 0, 1), ("0.05", 0, 2), ("12.5", 2, 3), ("-999", 3, 3), (NINES, 65, 65)];
    for (text, integer, all) in table {
        assert_eq!((d(text).integer_digits(), d(text).digit_count()), (integer, all), "{text}");
    }
    assert!(d("99.94").fits(3, 1));
    assert!(!d("99.95").fits(3, 1));
    assert!(d("-99.9").fits(3, 1));
    assert!(!d("100").fits(3, 1));
    assert_eq!(Decimal::max_value(5, 2).to_string(), "999.99");
    assert_eq!(Decimal::max_value(30, 30).to_string(), format!("0.{}", "9".repeat(30)));
}

/// The double nearest to the text, and the shortest text of a double.
#[test]
fn doubles() {
    for (value, text) in [
        (0.1, "0.1"),
        (1e22, "10000000000000000000000"),
        (-2.5e-7, "-0.00000025"),
        (0.0, "0"),
        (-0.0, "0"),
        (123456789.125, "123456789.125"),
    ] {
        assert_eq!(Decimal::from_f64(value).unwrap().to_string(), text);
        assert_eq!(d(text).to_f64(), value);
    }
    for value in [f64::NAN, f64::INFINITY, 1e71, -1e300] {
        assert_eq!(Decimal::from_f64(value), None);
    }
    assert_eq!(d(NINES).to_f64(), 1e65);
    assert_eq!(Decimal::from_f64(1e-80), Some(Decimal::ZERO));
    assert_eq!(Decimal::from_f64(1e-40).unwrap().to_f64(), 1e-40);
}

/// A decimal against the exact value of a double, which no rounding may blur.
#[test]
fn exact_doubles() {
    use Ordering::{Equal, Greater, Less};
    for (text, double, expected) in [
        ("0.5", 0.5, Equal),
        ("0.1", 0.1, Less),
        ("-0.1", -0.1, Greater),
        ("0.1000000000000000055511151231257827021181583404541015625", 0.1, Equal),
        ("9007199254740993", 9007199254740992.0, Greater),
        ("9007199254740992", 9007199254740992.0, Equal),
        ("0", -0.0, Equal),
        ("1", f64::MAX, Less),
        ("-1", -f64::MAX, Greater),
        ("1267650600228229401496703205376", 2f64.powi(100), Equal),
        ("1267650600228229401496703205377", 2f64.powi(100), Greater),
    ] {
        assert_eq!(d(text).compare_f64(double), expected, "{text} and {double}");
        assert_eq!(d(text).to_f64_exact().is_some_and(|own| own == double), expected == Equal);
    }
}

/// Fixed sizes hold the largest number of their precision and are the least that do.
#[test]
fn fixed_sizes() {
    for precision in 1..=PRECISION_MAX {
        let size = Decimal::fixed_size(precision);
        let largest = power(u32::from(precision)) - ethnum::I256::ONE;
        let bits = 256 - largest.leading_zeros() + 1;
        assert_eq!(size, bits.div_ceil(8) as usize, "precision {precision}");
    }
    assert_eq!(Decimal::fixed_size(65), 28);
    assert_eq!(Decimal::decode_fixed(3, 1, &[0xff, 0xff]), None);
    assert_eq!(Decimal::decode_fixed(3, 1, &[0x80]), None);
}

#[test]
fn wire_refuses_what_is_no_decimal() {
    let mut bytes = d("12.5").to_bytes();
    assert_eq!(Decimal::from_bytes(&bytes).unwrap().to_string(), "12.5");
    bytes[0] = 72;
    assert_eq!(Decimal::from_bytes(&bytes), Err(WireError::Invalid("decimal")));
    // More digits show than there are.
    bytes[..2].copy_from_slice(&[1, 2]);
    assert_eq!(Decimal::from_bytes(&bytes), Err(WireError::Invalid("decimal")));
    let mut bytes = d("1").to_bytes();
    bytes[31] = 0x7f;
    assert_eq!(Decimal::from_bytes(&bytes), Err(WireError::Invalid("decimal")));
}

fn hash(value: Decimal) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Decimals of all sizes: a text of up to 35 digits before and 30 behind the point.
fn any_decimal() -> impl Strategy<Value = Decimal> {
    "-?(0|[1-9][0-9]{0,34})(\\.[0-9]{1,30})?".prop_map(|text| d(&text))
}
/// Decimals whose sums and products fit in i128 as plain integers.
fn small_decimal() -> impl Strategy<Value = (i128, u8)> {
    (-1_000_000_000_000i128..1_000_000_000_000, 0u8..=8)
}

proptest! {
    /// Sum, product and order of small numbers are those of integers at a common scale.
    #[test]
    fn agrees_with_integers((a, a_scale) in small_decimal(), (b, b_scale) in small_decimal()) {
        let (left, right) = (Decimal::from_parts(a, a_scale), Decimal::from_parts(b, b_scale));
        let scale = a_scale.max(b_scale);
        let (a_up, b_up) =
            (a * 10i128.pow(u32::from(scale - a_scale)), b * 10i128.pow(u32::from(scale - b_scale)));
        let sum = left.add(right).unwrap();
        prop_assert_eq!(sum.to_string(), Decimal::from_parts(a_up + b_up, scale).to_string());
        let product = left.mul(right).unwrap();
        prop_assert_eq!(product.to_string(), Decimal::from_parts(a * b, a_scale + b_scale).to_string());
        prop_assert_eq!(left.cmp(&right), a_up.cmp(&b_up));
        if b != 0 {
            let remainder = left.rem(right).unwrap();
            prop_assert_eq!(remainder.to_string(), Decimal::from_parts(a_up % b_up, scale).to_string());
            let quotient = left.int_div(right).unwrap();
            prop_assert_eq!(quotient.to_string(), (a_up / b_up).to_string());
        }
    }
    /// A number is its text, its bytes, its fixed bytes and its normal form; equal numbers hash alike.
    #[test]
    fn forms_agree(value in any_decimal()) {
        prop_assert_eq!(d(&value.to_string()).to_string(), value.to_string());
        prop_assert_eq!(Decimal::from_bytes(&value.to_bytes()).unwrap().to_string(), value.to_string());
        prop_assert_eq!(value.normalized(), value);
        prop_assert_eq!(hash(value.normalized()), hash(value));
        let mut fixed = Vec::new();
        value.encode_fixed(65, value.shown_scale(), &mut fixed);
        let back = Decimal::decode_fixed(65, value.shown_scale(), &fixed).unwrap();
        prop_assert_eq!(back.to_string(), value.to_string());
        prop_assert_eq!(value.to_f64(), value.to_string().parse::<f64>().unwrap());
    }
    /// Fixed bytes order as the numbers do.
    #[test]
    fn fixed_order(a in any_decimal(), b in any_decimal()) {
        let (mut left, mut right) = (Vec::new(), Vec::new());
        a.encode_fixed(65, 30, &mut left);
        b.encode_fixed(65, 30, &mut right);
        prop_assert_eq!(left.cmp(&right), a.cmp(&b));
        prop_assert_eq!(a.cmp(&b).reverse(), b.cmp(&a));
        prop_assert_eq!(a.neg().cmp(&b.neg()), b.cmp(&a));
    }
    /// A quotient is cut, not rounded: 0 <= |a| - |quotient * b| < |b| * 10^-scale.
    #[test]
    fn division_cuts(a in small_decimal(), b in small_decimal()) {
        let (a, b) = (Decimal::from_parts(a.0, a.1), Decimal::from_parts(b.0, b.1));
        prop_assume!(!b.is_zero());
        let quotient = a.div(b, 4).unwrap();
        prop_assert_eq!(quotient.shown_scale(), a.shown_scale() + 4);
        let rest = a.abs().sub(quotient.mul(b).unwrap().abs()).unwrap();
        let bound = b.abs().mul(Decimal::from_parts(1, 9)).unwrap();
        prop_assert!(!rest.is_negative() && rest < bound, "{a:?} / {b:?} = {quotient:?}");
    }
    /// Wide products and sums come back: (a + b) - b = a, and a product divided by its factor.
    #[test]
    fn wide_inverse(a in any_decimal(), b in any_decimal()) {
        let sum = a.add(b).unwrap();
        prop_assert_eq!(sum.sub(b).unwrap(), a);
        if let Some(product) = a.mul(b)
            && !b.is_zero()
            && a.shown_scale() + b.shown_scale() <= 30
            && product.shown_scale() == a.shown_scale() + b.shown_scale()
        {
            let back = product.div(b, 0).unwrap().rescale(a.shown_scale());
            prop_assert_eq!(back, Some(a));
        }
    }
    /// The order against doubles is the order of the doubles' exact values.
    #[test]
    fn exact_doubles_order(a in any_decimal(), b in any::<i64>(), shift in 0u32..60) {
        let double = b as f64 / 2f64.powi(shift as i32);
        if let Some(exact) = Decimal::parse(&format!("{double:.60}")) && exact.to_f64_exact() == Some(double) {
            prop_assert_eq!(a.compare_f64(double), a.cmp(&exact));
            prop_assert_eq!(exact.compare_f64(double), Ordering::Equal);
        }
        let near = Decimal::from_f64(double).unwrap();
        prop_assert_eq!(near.to_f64(), double);
        prop_assert_eq!(near.to_f64_exact().is_some(), near.compare_f64(double).is_eq());
    }
    /// No bytes make the readers panic, and what they accept they can write.
    #[test]
    fn hostile_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..40), text in "[-+0-9.eE ]{0,90}") {
        if let Ok(value) = Decimal::from_bytes(&bytes) {
            prop_assert_eq!(value.to_bytes(), bytes.clone());
        }
        let (_, used) = Decimal::parse_prefix(&bytes);
        prop_assert!(used <= bytes.len());
        let (value, used) = Decimal::parse_prefix(text.as_bytes());
        prop_assert!(used <= text.len());
        prop_assert_eq!(d(&value.to_string()), value.as_shown());
    }
}
