//! Which of its forks count for a session that is removed. Pure.
//!
//! What sessions have in common counts once. A fork leaves it to the session that it was made from; when that one goes,
//! one fork takes its place, and the others leave to that fork what they have in common with it.

/// From which session a fork was made, or which has taken its place since, and the last entry of both.
pub(crate) type ForkOf = (String, i64);

/// The places of the forks of a session that is removed, which was itself a fork of `origin` or of none.
pub(crate) fn heirs(
    origin: Option<&ForkOf>,
    forks: Vec<(String, i64)>,
) -> Vec<(String, Option<ForkOf>)> {
    // The one that has most in common with it, so that no other has more in common with it than that one.
    let longest = |(one_id, one): &&(String, i64), (other_id, other): &&(String, i64)| {
        one.cmp(other).then_with(|| other_id.cmp(one_id))
    };
    let Some((heir, shared)) = forks.iter().max_by(longest).cloned() else { return Vec::new() };
    // No session counts for itself, whatever was imported.
    let above = origin.filter(|(id, _)| *id != heir);
    let above = above.map(|(id, at)| (id.clone(), shared.min(*at)));
    let place = |(id, at): (String, i64)| match id == heir {
        true => (id, above.clone()),
        false => (id, Some((heir.clone(), at))),
    };
    forks.into_iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(origin: Option<(&str, i64)>, forks: &[(&str, i64)]) -> String {
        let origin = origin.map(|(id, at)| (id.to_owned(), at));
        let forks = forks.iter().map(|(id, at)| ((*id).to_owned(), *at)).collect();
        let places = heirs(origin.as_ref(), forks).into_iter();
        let told = places.map(|(id, of)| match of {
            Some((from, at)) => format!("{id}<{from}@{at}"),
            None => id,
        });
        told.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_fork_with_most_in_common_takes_the_place() {
        assert_eq!(told(None, &[]), "");
        assert_eq!(told(None, &[("a", 5)]), "a");
        assert_eq!(told(None, &[("a", 5), ("b", 9), ("c", 9)]), "a<b@5 b c<b@9");
        assert_eq!(told(Some(("o", 7)), &[("a", 5), ("b", 9)]), "a<b@5 b<o@7");
        assert_eq!(told(Some(("o", 7)), &[("a", 5)]), "a<o@5");
        assert_eq!(told(Some(("a", 7)), &[("a", 5)]), "a");
    }
}
