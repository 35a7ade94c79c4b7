//! Lists that are read page by page.
//!
//! The law of a page: it is full, or it is the last one, or [`PAGE_ROUNDS_MAX`] rounds did not fill it. Only the last page has no
//! [`Page::next`]. What is gone or hidden is passed over and replaced. One row more than asked for shows whether there is a next
//! page. DynamoDB may end a query early, so few or no rows do not end a list: a list ends where its reader finds no next place.

use std::collections::HashMap;
use std::hash::Hash;

use fanfold_core::limits::PAGE_ROUNDS_MAX;
use fanfold_runtime::StoreError;

/// Fewest rows that a query for a page reads.
const LIST_QUERY_MIN: usize = 25;

/// A page of a list. `P` is a place in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T, P> {
    pub items: Vec<T>,
    /// The next page begins after this place. `None`: this is the last one.
    pub next: Option<P>,
}

impl<T, P> Page<T, P> {
    /// Reads a page of a list that shows all its rows. `read` returns as many rows as it is asked for, or all that are left.
    pub async fn of_rows(
        limit: usize,
        read: impl AsyncFnOnce(usize) -> Result<Vec<T>, StoreError>,
        place: impl FnOnce(&T) -> P,
    ) -> Result<Self, StoreError> {
        Ok(Self::cut(read(limit + 1).await?, limit, place))
    }

    /// The first `limit` of these items. Another one shows that there is a next page.
    fn cut(mut items: Vec<T>, limit: usize, place: impl FnOnce(&T) -> P) -> Self {
        let more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| more).map(place);
        Self { items, next }
    }

    /// The page with other items.
    pub fn map<U>(self, item: impl FnMut(T) -> U) -> Page<U, P> {
        Page { items: self.items.into_iter().map(item).collect(), next: self.next }
    }
}

impl<P> Page<P, P> {
    /// A page of what a read returned that was asked for `wanted` places. Fewer are the end of the list.
    pub fn of_places(items: Vec<P>, wanted: usize) -> Self
    where
        P: Copy,
    {
        let next = items.last().copied().filter(|_| items.len() >= wanted);
        Self { items, next }
    }

    /// The page with its places in another form.
    pub fn with_places<Q>(self, place: impl Fn(P) -> Q) -> Page<Q, Q> {
        Page { next: self.next.map(&place), items: self.items.into_iter().map(place).collect() }
    }
}

/// A page that is being filled.
#[derive(Debug)]
pub struct Filling<T, P> {
    limit: usize,
    found: Vec<(P, T)>,
}

impl<T, P: Copy> Filling<T, P> {
    pub fn new(limit: usize) -> Self {
        Self { limit, found: Vec::new() }
    }

    /// The number of items that are missing, with the one that shows that there is a next page.
    pub fn missing(&self) -> usize {
        (self.limit + 1).saturating_sub(self.found.len())
    }

    /// The number of rows to read. It can be greater than the number of missing items, because some rows may show nothing.
    pub fn wanted(&self) -> usize {
        self.missing().max(LIST_QUERY_MIN)
    }

    /// Adds items, each with its place.
    pub fn add(&mut self, items: impl IntoIterator<Item = (P, T)>) {
        self.found.extend(items);
    }

    pub fn is_full(&self) -> bool {
        self.missing() == 0
    }

    /// Ends the page. `place` is where the search stopped, unless it reached the end of the list.
    pub fn end(self, place: Option<P>) -> Page<T, P> {
        let place = place.filter(|_| !self.is_full());
        let page = Page::cut(self.found, self.limit, |(place, _)| *place);
        Page { next: page.next.or(place), ..page }.map(|(_, item)| item)
    }
}

/// Reads a page of what rows show to a viewer. A row is its place, and its second part is the id of what it shows.
///
/// `read` returns rows after a place, about as many as it is asked for, and the place after which the next ones begin.
/// `present` leaves out what is gone or hidden.
pub async fn fill<T, A: Copy, K: Copy + Eq + Hash, R, S>(
    mut after: Option<(A, K)>,
    limit: usize,
    read: impl Fn(Option<(A, K)>, usize) -> R,
    present: impl Fn(Vec<K>) -> S,
) -> Result<Page<T, (A, K)>, StoreError>
where
    R: Future<Output = Result<Page<(A, K), (A, K)>, StoreError>>,
    S: Future<Output = Result<HashMap<K, T>, StoreError>>,
{
    let mut page = Filling::new(limit);
    for _ in 0..PAGE_ROUNDS_MAX {
        let rows = read(after, page.wanted()).await?;
        after = rows.next;
        let ids = rows.items.iter().map(|(_, id)| *id).collect();
        let mut shown = present(ids).await?;
        let rows = rows.items.into_iter();
        page.add(rows.filter_map(|row| Some((row, shown.remove(&row.1)?))));
        if after.is_none() || page.is_full() {
            break;
        }
    }
    Ok(page.end(after))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// A list of the numbers from 1 to `last`. A query looks at `step` numbers at most, and returns those that are rows.
    struct Numbers {
        last: u32,
        step: usize,
        is_row: fn(u32) -> bool,
        is_shown: fn(u32) -> bool,
        /// How many rows each query was asked for.
        asked: RefCell<Vec<usize>>,
    }

    impl Numbers {
        fn to(last: u32) -> Self {
            let all = |_| true;
            Self { last, step: usize::MAX, is_row: all, is_shown: all, asked: RefCell::default() }
        }

        async fn page(&self, after: Option<((), u32)>, limit: usize) -> Page<u32, ((), u32)> {
            let read = |after: Option<((), u32)>, wanted: usize| async move {
                self.asked.borrow_mut().push(wanted);
                let from = after.map_or(1, |(_, number)| number + 1);
                let read: Vec<u32> = (from..=self.last).take(wanted.min(self.step)).collect();
                let next = read.last().copied().filter(|number| *number < self.last);
                let items = read.into_iter().filter(|number| (self.is_row)(*number)).collect();
                Ok(Page { items, next }.with_places(|number| ((), number)))
            };
            let present = |ids: Vec<u32>| async move {
                let shown = ids.into_iter().filter(|id| (self.is_shown)(*id));
                Ok(shown.map(|id| (id, id)).collect())
            };
            fill(after, limit, read, present).await.expect("a page")
        }

        /// Reads all pages. Each but the last one is full, and the next one begins after its last item.
        async fn walk(&self, limit: usize) -> Vec<u32> {
            let (mut all, mut after) = (Vec::new(), None);
            loop {
                let page = self.page(after, limit).await;
                all.extend(&page.items);
                let Some(next) = page.next else {
                    assert!(page.items.len() <= limit);
                    return all;
                };
                assert_eq!((page.items.len(), page.items.last()), (limit, Some(&next.1)));
                after = Some(next);
            }
        }
    }

    #[tokio::test]
    async fn a_page_is_full_or_the_last_one() {
        for last in 0..70 {
            let numbers = Numbers::to(last);
            for limit in [1, 2, 7, 30, 69, 100] {
                assert_eq!(numbers.walk(limit).await, (1..=last).collect::<Vec<_>>());
                let first = numbers.page(None, limit).await;
                assert_eq!(first.next.is_some(), last as usize > limit, "{limit} of {last}");
            }
        }
        let numbers = Numbers::to(100);
        numbers.page(None, 30).await;
        assert_eq!(*numbers.asked.borrow(), [31], "a full page needs one query");
    }

    #[tokio::test]
    async fn short_and_empty_answers_do_not_end_a_list() {
        let numbers = Numbers { step: 3, is_row: |number| number % 10 == 0, ..Numbers::to(100) };
        let rows: Vec<u32> = (1..=10).map(|number| number * 10).collect();
        for limit in 1..12 {
            assert_eq!(numbers.walk(limit).await, rows);
        }
    }

    #[tokio::test]
    async fn what_is_not_shown_is_replaced() {
        let numbers = Numbers { is_shown: |number| number > 40, ..Numbers::to(100) };
        let first = numbers.page(None, 29).await;
        assert_eq!(first, Page { items: (41..=69).collect(), next: Some(((), 69)) });
        // 30 rows, 30 more, of which 20 are shown, and the fewest that a query reads
        assert_eq!(*numbers.asked.borrow(), [30, 30, LIST_QUERY_MIN]);
        assert_eq!(numbers.walk(29).await, (41..=100).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn a_page_that_its_rounds_do_not_fill_has_a_next_one() {
        let numbers = Numbers { step: 10, is_shown: |number| number > 990, ..Numbers::to(1_000) };
        let first = numbers.page(None, 5).await;
        let looked_at = 10 * PAGE_ROUNDS_MAX as u32;
        assert_eq!(first, Page { items: Vec::new(), next: Some(((), looked_at)) });
        assert_eq!(numbers.asked.borrow().len(), PAGE_ROUNDS_MAX);
        let second = numbers.page(first.next, 5).await;
        assert_eq!(second, Page { items: (991..=995).collect(), next: Some(((), 995)) });
    }

    #[tokio::test]
    async fn one_row_more_shows_that_there_is_a_next_page() {
        for (rows, next) in [(0, None), (4, None), (5, None), (6, Some(5)), (9, Some(5))] {
            let read = async |count| Ok((1..=rows).take(count).collect());
            let page = Page::of_rows(5, read, |row: &u32| *row).await.expect("a page");
            assert_eq!(page, Page { items: (1..=rows.min(5)).collect(), next });
            assert_eq!(Page::of_places((0..rows).collect(), 6).next, (rows >= 6).then(|| rows - 1));
        }
    }
}
