//! Whether a document contains another one, or shares something with it.

use super::binary::{Container, JsonRef, View};
use super::compare::compare;

/// JSON_CONTAINS: an array contains the elements of another one, and any value that one of its elements contains; an object
/// contains the members of another one; a scalar contains its equal. Each comparison lowers `steps`; None if there are too
/// few of them.
pub fn contains(target: JsonRef<'_>, candidate: JsonRef<'_>, steps: &mut usize) -> Option<bool> {
    *steps = steps.checked_sub(1)?;
    match (target.view(), candidate.view()) {
        (View::Array(target), View::Array(candidate)) => {
            all(candidate.values(), |element| is_in(element, target, steps))
        }
        (View::Array(target), _) => is_in(candidate, target, steps),
        (View::Object(target), View::Object(candidate)) => {
            all(0..candidate.len(), |position| match target.member(candidate.name(position)) {
                Some(own) => contains(own, candidate.value(position), steps),
                None => Some(false),
            })
        }
        (_, View::Array(_) | View::Object(_)) | (View::Object(_), _) => Some(false),
        _ => Some(compare(target, candidate).is_eq()),
    }
}

fn all<T>(
    items: impl Iterator<Item = T>,
    mut holds: impl FnMut(T) -> Option<bool>,
) -> Option<bool> {
    for item in items {
        if !holds(item)? {
            return Some(false);
        }
    }
    Some(true)
}

/// Whether an element of `target` contains the candidate.
fn is_in(candidate: JsonRef<'_>, target: Container<'_>, steps: &mut usize) -> Option<bool> {
    for element in target.values() {
        if contains(element, candidate, steps)? {
            return Some(true);
        }
    }
    Some(false)
}

/// JSON_OVERLAPS: two objects share a member, other values an element, where a value that is no array is its own element.
/// None as for [`contains`].
pub fn overlaps(left: JsonRef<'_>, right: JsonRef<'_>, steps: &mut usize) -> Option<bool> {
    if let (Some(left), Some(right)) = (left.object(), right.object()) {
        for position in 0..left.len() {
            *steps = steps.checked_sub(1)?;
            let other = right.member(left.name(position));
            if other.is_some_and(|other| compare(left.value(position), other).is_eq()) {
                return Some(true);
            }
        }
        return Some(false);
    }
    for value in elements(left) {
        if is_element(value, right, steps)? {
            return Some(true);
        }
    }
    Some(false)
}

/// MEMBER OF: whether a value equals an element of an array, or the document that is none. None as for [`contains`].
pub fn is_element(value: JsonRef<'_>, array: JsonRef<'_>, steps: &mut usize) -> Option<bool> {
    for element in elements(array) {
        *steps = steps.checked_sub(1)?;
        if compare(element, value).is_eq() {
            return Some(true);
        }
    }
    Some(false)
}

/// The elements of an array; another value is its own element.
fn elements<'a>(value: JsonRef<'a>) -> impl Iterator<Item = JsonRef<'a>> {
    let array = value.array();
    (0..array.map_or(1, Container::len)).map(move |at| array.map_or(value, |own| own.value(at)))
}
