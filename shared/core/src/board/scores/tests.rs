use super::*;
use proptest::prelude::*;

fn score() -> impl Strategy<Value = i64> {
    prop_oneof![
        Just(i64::MIN),
        Just(i64::MIN + 1),
        -2i64..3,
        Just(i64::MAX - 1),
        Just(i64::MAX),
        any::<i64>()
    ]
}

fn order() -> impl Strategy<Value = Order> {
    prop_oneof![Just(Order::Ascending), Just(Order::Descending)]
}

prop_compose! {
    /// Orders, and two scores for them.
    fn pair()(scores in prop::collection::vec((order(), score(), score()), 1..=4))
        -> (Orders, Scores, Scores) {
        let orders: Vec<Order> = scores.iter().map(|(order, ..)| *order).collect();
        let of = |pick: fn(&(Order, i64, i64)) -> i64| {
            Scores::new(&scores.iter().map(pick).collect::<Vec<_>>()).unwrap()
        };
        (orders.try_into().unwrap(), of(|(_, one, _)| *one), of(|(_, _, two)| *two))
    }
}

fn scores(values: &[i64]) -> Scores {
    Scores::new(values).unwrap()
}

#[test]
fn a_board_has_one_to_four_scores() {
    let orders = |count| Orders::try_from(vec![Order::Ascending; count]);
    assert!(orders(1).is_ok() && orders(4).is_ok());
    for wrong in [orders(0).err(), orders(5).err()] {
        assert_eq!(wrong, Some(BoardError::Scores));
    }
    for wrong in [&[][..], &[1, 2, 3, 4, 5]] {
        assert_eq!(Scores::new(wrong), Err(BoardError::Scores));
    }
    let name = "a".parse().unwrap();
    let wrong = orders(2).unwrap().member(&scores(&[1]), &name);
    assert_eq!(wrong, Err(BoardError::Scores));
}

fn merged(by: MergeBy, all: &[&[i64]]) -> Scores {
    let (first, others) = all.split_first().unwrap();
    let mut merged = Merged::new(by, &scores(first));
    others.iter().for_each(|other| merged.add(&scores(other)));
    merged.scores()
}

#[test]
fn scores_of_several_boards_are_merged() {
    let both: [&[i64]; 2] = [&[1, 5], &[2, 4]];
    assert_eq!(merged(MergeBy::Sum, &both), scores(&[3, 9]));
    assert_eq!(merged(MergeBy::Minimum, &both), scores(&[1, 4]));
    assert_eq!(merged(MergeBy::Maximum, &both), scores(&[2, 5]));
    let (least, most) = (scores(&[i64::MIN]), scores(&[i64::MAX]));
    assert_eq!(merged(MergeBy::Sum, &[&[i64::MIN], &[-1]]), least);
    assert_eq!(merged(MergeBy::Sum, &[&[i64::MAX], &[1]]), most);
}

/// The sum of the first two is beyond the 64-bit integers, and that of all three is not.
#[test]
fn a_sum_does_not_depend_on_the_order_of_the_boards() {
    let (most, one, ten) = ([i64::MAX], [1], [-10]);
    for order in [
        [most, one, ten],
        [most, ten, one],
        [one, most, ten],
        [one, ten, most],
        [ten, most, one],
        [ten, one, most],
    ] {
        let all: Vec<&[i64]> = order.iter().map(|one| &one[..]).collect();
        assert_eq!(merged(MergeBy::Sum, &all), scores(&[i64::MAX - 9]), "{order:?}");
    }
}

#[test]
fn members_are_ranked_among_themselves() {
    let ranked = |ranks| {
        let orders = vec![Order::Descending].try_into().unwrap();
        let board = Board { id: RoundId(1), orders, ranks, limit: None };
        let members = [("d", 1), ("c", 5), ("b", 5), ("a", 9)];
        board.ranks_among(&members.map(|(name, one)| (name.parse().unwrap(), scores(&[one]))))
    };
    assert_eq!(ranked(Ranks::Competition), [4, 2, 2, 1]);
    assert_eq!(ranked(Ranks::Dense), [3, 2, 2, 1]);
    assert_eq!(ranked(Ranks::Ordinal), [4, 3, 2, 1]);
}

proptest! {
    #[test]
    fn better_members_have_lower_bytes(
        (orders, one, two) in pair(),
        first in "[^/\\p{Cc}\\s]{1,5}",
        second in "[^/\\p{Cc}\\s]{1,5}",
    ) {
        let names = (first.parse::<MemberName>(), second.parse::<MemberName>());
        let (Ok(first), Ok(second)) = names else { return Ok(()) };
        let members = (orders.member(&one, &first)?, orders.member(&two, &second)?);
        let expected = orders.compare(&one, &two).then_with(|| first.cmp(&second));
        prop_assert_eq!(members.0.cmp(&members.1), expected);
        prop_assert_eq!(orders.is_better(&one, &two), orders.encode(&one)? < orders.encode(&two)?);
        prop_assert_eq!(orders.scored(&members.0), Some((one, first)));
    }

    #[test]
    fn a_range_has_the_members_with_first_scores_in_it(
        (orders, one, two) in pair(),
        from in score(),
    ) {
        let (below, above) = orders.range(from, two.as_slice()[0]);
        for name in ["\u{1}x", "\u{10ffff}"] {
            let mut member = orders.encode(&one)?;
            member.extend_from_slice(name.as_bytes());
            let (low, high) = (from.min(two.as_slice()[0]), from.max(two.as_slice()[0]));
            let is_in = (low..=high).contains(&one.as_slice()[0]);
            prop_assert_eq!(below <= member && member < above, is_in);
        }
    }

    #[test]
    fn other_bytes_are_no_member((orders, one, _) in pair(), bytes: Vec<u8>) {
        prop_assert!(orders.scored(&orders.encode(&one)?).is_none(), "without a name");
        if bytes.len() <= orders.width() {
            prop_assert!(orders.scored(&bytes).is_none());
        }
    }
}
