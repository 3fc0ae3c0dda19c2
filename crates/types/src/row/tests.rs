use proptest::prelude::*;

use super::*;
use crate::collation::tests::tricky;
use crate::{IntWidth, LabelKind, Labels};

const COLLATION: Collation = Collation::Utf8mb40900AiCi;

/// A column type with one value of it, or NULL.
pub(crate) fn typed_value() -> impl Strategy<Value = (ColumnType, Value)> {
    typed(1).prop_map(|(column_type, mut values)| (column_type, values.remove(0)))
}

/// A column type with `count` values of it, some NULL.
pub(crate) fn typed(count: usize) -> impl Strategy<Value = (ColumnType, Vec<Value>)> {
    column_type().prop_flat_map(move |column_type| {
        let value = value_of(&column_type);
        (Just(column_type), prop::collection::vec(value, count))
    })
}

fn column_type() -> impl Strategy<Value = ColumnType> {
    let width = prop::sample::select(vec![
        IntWidth::W1,
        IntWidth::W2,
        IntWidth::W3,
        IntWidth::W4,
        IntWidth::W8,
    ]);
    let collation = || prop::sample::select(Collation::ALL.to_vec());
    prop_oneof![
        (width, any::<bool>()).prop_map(|(width, unsigned)| ColumnType::Int { width, unsigned }),
        Just(ColumnType::Float),
        Just(ColumnType::Double),
        (1u8..=65, 0u8..=30, any::<bool>()).prop_map(|(precision, scale, unsigned)| {
            ColumnType::Decimal { precision, scale: scale.min(precision), unsigned }
        }),
        collation().prop_map(|collation| ColumnType::Char { length: 10, collation }),
        collation().prop_map(|collation| ColumnType::Varchar { length: 40, collation }),
        collation().prop_map(|collation| ColumnType::Text { bytes_max: 255, collation }),
        (0u32..20).prop_map(|length| ColumnType::Binary { length }),
        (0u32..20).prop_map(|length| ColumnType::Varbinary { length }),
        Just(ColumnType::Blob { bytes_max: 255 }),
        Just(ColumnType::Date),
        (0u8..=6).prop_map(|fsp| ColumnType::Time { fsp }),
        (0u8..=6).prop_map(|fsp| ColumnType::DateTime { fsp }),
        (0u8..=6).prop_map(|fsp| ColumnType::Timestamp { fsp }),
        (1usize..300, any::<bool>()).prop_map(|(count, is_set)| {
            let (kind, count_max) =
                if is_set { (LabelKind::Set, 64) } else { (LabelKind::Enum, 300) };
            let labels = (0..count.min(count_max)).map(|number| format!("l{number}")).collect();
            ColumnType::Labelled(Labels::new(kind, labels, COLLATION).unwrap().into())
        }),
        Just(ColumnType::Year),
        (1u8..=64).prop_map(|length| ColumnType::Bit { length }),
    ]
}

fn value_of(column_type: &ColumnType) -> BoxedStrategy<Value> {
    let value: BoxedStrategy<Value> = match *column_type {
        ColumnType::Labelled(ref labels) => {
            let labels = labels.clone();
            (0..=labels.number_max())
                .prop_map(move |number| Value::Label(number, labels.clone()))
                .boxed()
        }
        ColumnType::Year => prop_oneof![Just(0), YEAR_RANGE].prop_map(Value::UInt).boxed(),
        ColumnType::Bit { length } => (0..=bit_max(length)).prop_map(Value::UInt).boxed(),
        ColumnType::Int { width, unsigned: false } => {
            let all = width.signed_min()..=width.signed_max();
            prop_oneof![all.clone(), (-3i64..3)].prop_map(Value::Int).boxed()
        }
        ColumnType::Int { width, unsigned: true } => {
            prop_oneof![0..=width.unsigned_max(), 0u64..3].prop_map(Value::UInt).boxed()
        }
        ColumnType::Float => {
            let number = prop_oneof![
                any::<f32>().prop_filter("finite", |number| number.is_finite()),
                Just(0.0),
                Just(-0.0),
                Just(f32::MIN)
            ];
            number.prop_map(Value::Float).boxed()
        }
        ColumnType::Double => {
            let number = prop_oneof![
                any::<f64>().prop_filter("finite", |number| number.is_finite()),
                Just(0.0),
                Just(-0.0),
                Just(f64::MAX)
            ];
            number.prop_map(Value::Double).boxed()
        }
        ColumnType::Decimal { precision, scale, unsigned } => {
            let digits = prop::collection::vec(0u8..10, usize::from(precision));
            (digits, any::<bool>())
                .prop_map(move |(digits, negative)| {
                    let mut text: String =
                        digits.iter().map(|digit| char::from(b'0' + digit)).collect();
                    text.insert(usize::from(precision - scale), '.');
                    let sign = if negative && !unsigned { "-" } else { "" };
                    Value::Decimal(Decimal::parse(&format!("{sign}{text}")).unwrap())
                })
                .boxed()
        }
        ColumnType::Char { length, collation } => tricky()
            .prop_map(move |text| {
                let text: String = text.chars().take(length as usize).collect();
                Value::text(text.trim_end_matches(' '), collation)
            })
            .boxed(),
        ColumnType::Varchar { length, collation } => tricky()
            .prop_map(move |text| {
                Value::text(&text.chars().take(length as usize).collect::<String>(), collation)
            })
            .boxed(),
        ColumnType::Text { collation, .. } => tricky()
            .prop_map(move |text| {
                Value::text(&text.chars().take(50).collect::<String>(), collation)
            })
            .boxed(),
        ColumnType::Binary { length } => {
            let bytes = prop::collection::vec(prop_oneof![any::<u8>(), 0u8..3], length as usize);
            bytes.prop_map(|bytes| Value::bytes(&bytes)).boxed()
        }
        ColumnType::Varbinary { length } | ColumnType::Blob { bytes_max: length } => {
            let bytes = prop_oneof![any::<u8>(), 0u8..3, Just(0xff)];
            prop::collection::vec(bytes, 0..=length.min(9) as usize)
                .prop_map(|bytes| Value::bytes(&bytes))
                .boxed()
        }
        ColumnType::Date => (0u16..=9999, 0u8..=12, 0u8..=31)
            .prop_filter_map("no such day", |(year, month, day)| {
                Date::new(year, month, day).filter(|date| date.is_valid())
            })
            .prop_map(Value::Date)
            .boxed(),
        ColumnType::Time { .. } => any::<i64>()
            .prop_map(|micros| Value::Time(Time::from_micros_clamped(micros >> 22)))
            .boxed(),
        ColumnType::DateTime { .. } | ColumnType::Timestamp { .. } => (0i64
            ..253_402_300_800_000_000)
            .prop_map(|micros| Value::DateTime(DateTime::from_micros(micros).unwrap()))
            .boxed(),
        ColumnType::Json => unreachable!("no key has it: see documents_in_rows"),
    };
    prop_oneof![1 => Just(Value::Null), 9 => value].boxed()
}

fn table_like() -> (RowLayout, Vec<Value>) {
    let types = [
        ColumnType::Int { width: IntWidth::W4, unsigned: false },
        ColumnType::Varchar { length: 20, collation: COLLATION },
        ColumnType::Char { length: 5, collation: COLLATION },
        ColumnType::Binary { length: 3 },
        ColumnType::Int { width: IntWidth::W3, unsigned: true },
    ];
    let values = vec![
        Value::Int(-2),
        Value::Null,
        Value::text("ab", COLLATION),
        Value::bytes(b"x\0\0"),
        Value::UInt(0x010203),
    ];
    (RowLayout::new(&types), values)
}
fn refs(values: &[Value]) -> Vec<ValueRef<'_>> {
    values.iter().map(Value::as_ref).collect()
}

/// The bytes of a row, which are on disk: they never change.
#[test]
fn bytes_are_fixed() {
    let (layout, mut values) = table_like();
    values[2] = Value::text("ab  ", COLLATION);
    values[3] = Value::bytes(b"x");
    let bytes = encode_row(&layout, &refs(&values)).unwrap();
    let expected = [
        &[5, 0][..],               // columns
        &[0b10],                   // the second is NULL
        &[0xfe, 0xff, 0xff, 0xff], // -2
        b"x\0\0",                  // padded
        &[3, 2, 1],                // 0x010203
        &[0, 0, 0, 0, 2, 0, 0, 0], // ends
        b"ab",                     // trimmed
    ]
    .concat();
    assert_eq!(bytes, expected);
    assert_eq!(RowView::check(&layout, &bytes), Ok(()));
}

/// A row from before columns were added reads with the new layout.
#[test]
fn older_rows() {
    let (_, values) = table_like();
    let types: Vec<ColumnType> =
        table_like().0.columns.into_iter().map(|c| c.column_type).collect();
    let old = RowLayout::new(&types[..3]);
    let new = RowLayout::new(&types);
    let bytes = encode_row(&old, &refs(&values[..3])).unwrap();
    assert_eq!(RowView::check(&new, &bytes), Ok(()));
    let row = RowView::new(&new, &bytes);
    assert_eq!(row.to_values()[..3], values[..3]);
    assert!(row.has(2));
    assert!(!row.has(3));
    assert!(row.is_null(3));
    assert!(row.get(4).is_null());
    let changed = replace_columns(&row, &[(4, ValueRef::UInt(9))]).unwrap();
    let row = RowView::new(&new, &changed);
    assert_eq!(
        (row.get(0), row.get(3), row.get(4)),
        (ValueRef::Int(-2), ValueRef::Null, ValueRef::UInt(9))
    );
    // The other way around is damage: a row with unknown columns.
    let bytes = encode_row(&new, &refs(&values)).unwrap();
    assert!(matches!(RowView::check(&old, &bytes), Err(RowError::Damaged(_))));
}

/// Each kind of damage is found.
#[test]
fn damage_is_found() {
    let (layout, values) = table_like();
    let good = encode_row(&layout, &refs(&values)).unwrap();
    let damaged = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        assert!(matches!(RowView::check(&layout, &bytes), Err(RowError::Damaged(_))), "{bytes:?}");
    };
    for cut in 0..good.len() {
        assert!(RowView::check(&layout, &good[..cut]).is_err(), "cut at {cut}");
    }
    damaged(&|bytes| bytes.push(0));
    damaged(&|bytes| bytes[0] = 6);
    damaged(&|bytes| bytes[2] |= 0x80); // NULL bit of no column
    damaged(&|bytes| bytes[2] |= 1); // NULL with bytes under it
    damaged(&|bytes| bytes[2] |= 4); // the same for a variable column
    damaged(&|bytes| bytes[13] = 1); // end offsets go down
    damaged(&|bytes| bytes[17] = 3); // beyond the end
    damaged(&|bytes| bytes[22] = 0xff); // not UTF-8
    damaged(&|bytes| bytes[22] = b' '); // CHAR with trailing space
}

#[test]
fn too_large() {
    let layout = RowLayout::new(&[
        ColumnType::Blob { bytes_max: u32::MAX },
        ColumnType::Blob { bytes_max: u32::MAX },
    ]);
    let half = vec![7u8; ROW_SIZE_MAX / 2];
    let mut out = vec![1, 2, 3];
    let got = encode_row_into(&layout, &[ValueRef::Bytes(&half), ValueRef::Bytes(&half)], &mut out);
    assert_eq!(got, Err(RowError::TooLarge));
    assert_eq!(out, [1, 2, 3]);
    let fits = encode_row(&layout, &[ValueRef::Bytes(&half), ValueRef::Null]).unwrap();
    assert_eq!(RowView::check(&layout, &fits), Ok(()));
}

#[test]
#[should_panic(expected = "a column of type int was given a value of kind text")]
fn wrong_kinds_are_bugs() {
    let layout = RowLayout::new(&[ColumnType::Int { width: IntWidth::W4, unsigned: false }]);
    let _ = encode_row(&layout, &[ValueRef::Text("1", COLLATION)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    /// Any row of any types comes back, passes the check, and survives replacing a column.
    #[test]
    fn round_trip(columns in prop::collection::vec(typed_value(), 0..20), at in any::<prop::sample::Index>()) {
        let layout = RowLayout::new(columns.iter().map(|(column_type, _)| column_type));
        let values: Vec<Value> = columns.iter().map(|(_, value)| value.clone()).collect();
        let bytes = encode_row(&layout, &refs(&values)).unwrap();
        prop_assert_eq!(RowView::check(&layout, &bytes), Ok(()));
        let row = RowView::new(&layout, &bytes);
        prop_assert_eq!(row.to_values(), values.clone());
        if !values.is_empty() {
            let column = at.index(values.len());
            let changed = replace_columns(&row, &[(column, ValueRef::Null)]).unwrap();
            prop_assert_eq!(RowView::check(&layout, &changed), Ok(()));
            let back = replace_columns(&RowView::new(&layout, &changed), &[(column, values[column].as_ref())]);
            prop_assert_eq!(back.unwrap(), bytes);
        }
    }
    /// Bytes that pass the check can be read and give the same bytes again, however they came about.
    #[test]
    fn hostile_bytes(
        columns in prop::collection::vec(typed_value(), 1..8),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        noise in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let layout = RowLayout::new(columns.iter().map(|(column_type, _)| column_type));
        let values: Vec<Value> = columns.iter().map(|(_, value)| value.clone()).collect();
        let mut bytes = encode_row(&layout, &refs(&values)).unwrap();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        for bytes in [bytes, noise] {
            if RowView::check(&layout, &bytes).is_ok() {
                let row = RowView::new(&layout, &bytes);
                let values = row.to_values();
                if row.column_count() == layout.column_count() {
                    prop_assert_eq!(encode_row(&layout, &refs(&values)).unwrap(), bytes);
                }
            }
        }
    }
}

/// A row keeps documents, and the check of a row is one of its documents.
#[test]
fn documents_in_rows() {
    let layout = RowLayout::new([&ColumnType::Json, &ColumnType::Date, &ColumnType::Json]);
    let document =
        crate::json::encode(&crate::json::parse("[1, {\"a\": 70000}]").unwrap()).unwrap();
    let values = [Value::Json(document), Value::Null, Value::Null];
    let refs: Vec<ValueRef<'_>> = values.iter().map(Value::as_ref).collect();
    let row = encode_row(&layout, &refs).unwrap();
    RowView::check(&layout, &row).unwrap();
    assert_eq!(RowView::new(&layout, &row).to_values(), values);
    let start = row.len() - values[0].held_bytes();
    for place in start..row.len() {
        for bit in 0..8 {
            let mut damaged = row.clone();
            damaged[place] ^= 1 << bit;
            if RowView::check(&layout, &damaged).is_ok() {
                let values = RowView::new(&layout, &damaged).to_values();
                crate::convert::to_text(values[0].as_ref());
            }
        }
    }
    let mut foreign = row;
    foreign[start] = 2;
    assert_eq!(RowView::check(&layout, &foreign), Err(RowError::Damaged("JSON version")));
}
