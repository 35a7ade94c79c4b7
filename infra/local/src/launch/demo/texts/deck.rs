//! A deck of cards: everything is drawn once before anything is drawn again, and never the same twice in a row.

use fastrand::Rng;

pub struct Deck {
    size: usize,
    left: Vec<usize>,
    last: Option<usize>,
}

impl Deck {
    /// Cards with the numbers below `size`.
    pub fn new(size: usize) -> Self {
        Self { size, left: Vec::new(), last: None }
    }

    /// The number of a card. `None`: the deck has no cards.
    pub fn draw(&mut self, rng: &mut Rng) -> Option<usize> {
        if self.left.is_empty() {
            self.left = (0..self.size).collect();
            rng.shuffle(&mut self.left);
            // the next card must not be the one that was drawn last
            if self.size > 1 && self.left.last().copied() == self.last {
                self.left.rotate_right(1);
            }
        }
        self.last = self.left.pop();
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_drawn_once_before_anything_is_drawn_again() {
        for seed in 0..200 {
            let (mut rng, mut deck) = (Rng::with_seed(seed), Deck::new(5));
            let drawn: Vec<usize> = (0..50).filter_map(|_| deck.draw(&mut rng)).collect();
            for round in drawn.chunks(5) {
                let mut sorted = round.to_vec();
                sorted.sort_unstable();
                assert_eq!(sorted, [0, 1, 2, 3, 4], "seed {seed}");
            }
            assert!(drawn.windows(2).all(|pair| pair[0] != pair[1]), "seed {seed}: {drawn:?}");
        }
        assert_eq!(Deck::new(0).draw(&mut Rng::with_seed(1)), None);
    }
}
