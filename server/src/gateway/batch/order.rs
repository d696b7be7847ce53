//! Which part has to wait for which.

/// The parts so that each comes after all that it depends on, else as they are listed.
/// `None`: some wait for each other in a circle.
///
/// `depends_on[n]` are the parts, by their place, that part `n` waits for.
pub(super) fn order(depends_on: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut order: Vec<usize> = Vec::with_capacity(depends_on.len());
    while order.len() < depends_on.len() {
        let next = (0..depends_on.len()).find(|part| {
            !order.contains(part) && depends_on[*part].iter().all(|other| order.contains(other))
        })?;
        order.push(next);
    }
    Some(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_waited_for_comes_first_and_the_rest_stays_in_line() {
        assert_eq!(order(&[]), Some(vec![]));
        assert_eq!(order(&[vec![], vec![], vec![]]), Some(vec![0, 1, 2]));
        // Listed backwards.
        assert_eq!(order(&[vec![1], vec![2], vec![]]), Some(vec![2, 1, 0]));
        assert_eq!(
            order(&[vec![3], vec![], vec![0], vec![]]),
            Some(vec![1, 3, 0, 2])
        );
    }

    #[test]
    fn circles_are_found() {
        assert_eq!(order(&[vec![0]]), None);
        assert_eq!(order(&[vec![1], vec![0]]), None);
        assert_eq!(order(&[vec![], vec![3], vec![1], vec![2]]), None);
    }
}
