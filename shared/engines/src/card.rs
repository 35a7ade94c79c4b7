//! Cards: what pages show of items, from Valkey, and from DynamoDB where Valkey has none.
//!
//! A reader that misses a card takes its lease, reads the item and fills the card, while other readers wait for a
//! moment. A writer marks the cards of changed items as stale after its commit. `valkey/lua/_cards.lua` describes why a
//! card is never older than a commit whose writer has marked it.
//!
//! A page wants cards of several kinds. One call for each bucket reads them all, and the missing ones of all kinds are made from
//! DynamoDB at the same time.

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use fanfold_core::Time;
use fanfold_core::limits::{CARD_KEPT, CARD_MARK_WITHIN};
use fanfold_runtime::error::StoreError;
use fanfold_runtime::log::Chain;
use fanfold_runtime::{clock, metrics};
use futures::future::{BoxFuture, try_join_all};

use crate::reading::ReadContext;
use crate::valkey::{CardId, CardRead, Fill, Valkey};

/// How long it is kept that nothing is there.
const CARD_OF_NOTHING_KEPT: Duration = Duration::from_secs(10);
/// Times that a reader looks for a card that another reader is reading, 5 to 320 ms apart. Together this takes longer
/// than `CARD_LEASE`. After that the reader reads the item itself.
const CARD_LOOKS_MAX: u32 = 7;

/// Cards that are made, each with what it is of.
pub type Fetched<'a, Of, C> = BoxFuture<'a, Result<Vec<(Of, C)>, StoreError>>;

/// A kind of cards, made from a source `S`.
pub trait Card<S>: PartialEq + Sized + Send + Sync + 'static {
    /// What the card is of.
    type Of: Ord + Clone + Send + Sync + 'static;

    /// The name of the card.
    fn id(of: &Self::Of) -> CardId;

    /// What a card is of. `None`: its name does not tell, or it is of another kind. The audit compares none of these.
    fn of(id: CardId) -> Option<Self::Of>;

    /// Makes cards from DynamoDB, strongly consistent. Those that are left out are missing.
    fn fetch(source: &S, of: Vec<Self::Of>) -> Fetched<'_, Self::Of, Self>;

    /// The text that Valkey keeps. `None`: it keeps nothing.
    fn text(&self) -> Option<Text>;

    /// Decodes a kept text. `None`: it has another form, so the item is read.
    fn decode(of: &Self::Of, text: &[u8]) -> Option<Self>;

    /// Whether a card is as good as one that was made now.
    fn is_same(&self, right: &Self) -> bool {
        self == right
    }

    /// Whether a card is kept, as far as a reader knows who found these cards.
    fn is_kept(_of: &Self::Of, _found: &Found) -> bool {
        true
    }
}

/// The text of a card that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    text: Vec<u8>,
    /// How long it is kept.
    kept: Duration,
    /// Whether it counts in the memory of all cards.
    counts: bool,
}

impl Text {
    /// The text of an item.
    pub fn of(text: Vec<u8>) -> Self {
        Self { text, kept: CARD_KEPT, counts: true }
    }

    /// The text that says that nothing is there. It is kept for a moment.
    pub fn of_nothing(text: Vec<u8>) -> Self {
        Self { text, kept: CARD_OF_NOTHING_KEPT, counts: false }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.text
    }
}

type AnyCard = Box<dyn Any + Send + Sync>;

/// The cards that a reader found.
#[derive(Default)]
pub struct Found(HashMap<CardId, AnyCard>);

impl Found {
    /// A card. `None`: it is missing, or was not wanted.
    pub fn get<S, C: Card<S>>(&self, of: &C::Of) -> Option<&C> {
        self.0.get(&C::id(of))?.downcast_ref()
    }

    /// The same, out of what was found.
    pub fn take<S, C: Card<S>>(&mut self, of: &C::Of) -> Option<C> {
        Some(*self.0.remove(&C::id(of))?.downcast().ok()?)
    }
}

/// The cards that a page needs.
pub struct Wanted<S>(Vec<Box<dyn Part<S>>>);

impl<S> Default for Wanted<S> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// The cards of one kind that a page needs.
trait Part<S>: Send + Sync {
    fn ids(&self) -> Vec<CardId>;
    fn has(&self, id: CardId) -> bool;
    fn decode(&self, id: CardId, text: &[u8]) -> Option<AnyCard>;
    fn fetch<'a>(&'a self, source: &'a S, ids: &[CardId]) -> Fetched<'a, CardId, AnyCard>;
    fn text(&self, id: CardId, found: &Found) -> Option<Text>;
    fn is_same(&self, card: &AnyCard, right: Option<&AnyCard>) -> bool;
}

struct PartOf<S, C: Card<S>>(BTreeMap<CardId, C::Of>);

impl<S: Sync, C: Card<S>> Part<S> for PartOf<S, C> {
    fn ids(&self) -> Vec<CardId> {
        self.0.keys().copied().collect()
    }

    fn has(&self, id: CardId) -> bool {
        self.0.contains_key(&id)
    }

    fn decode(&self, id: CardId, text: &[u8]) -> Option<AnyCard> {
        C::decode(self.0.get(&id)?, text).map(|card| Box::new(card) as AnyCard)
    }

    fn fetch<'a>(&'a self, source: &'a S, ids: &[CardId]) -> Fetched<'a, CardId, AnyCard> {
        let of: Vec<C::Of> = ids.iter().filter_map(|id| self.0.get(id).cloned()).collect();
        Box::pin(async move {
            if of.is_empty() {
                return Ok(Vec::new());
            }
            let made = C::fetch(source, of).await?.into_iter();
            Ok(made.map(|(of, card)| (C::id(&of), Box::new(card) as AnyCard)).collect())
        })
    }

    fn text(&self, id: CardId, found: &Found) -> Option<Text> {
        let of = self.0.get(&id)?;
        found.get::<S, C>(of).filter(|_| C::is_kept(of, found))?.text()
    }

    fn is_same(&self, card: &AnyCard, right: Option<&AnyCard>) -> bool {
        let both = card.downcast_ref::<C>().zip(right.and_then(|right| right.downcast_ref::<C>()));
        both.is_some_and(|(card, right)| card.is_same(right))
    }
}

impl<S: Sync + 'static> Wanted<S> {
    /// These cards, too.
    #[must_use]
    pub fn and<C: Card<S>>(mut self, of: impl IntoIterator<Item = C::Of>) -> Self {
        let of: BTreeMap<CardId, C::Of> = of.into_iter().map(|of| (C::id(&of), of)).collect();
        if !of.is_empty() {
            self.0.push(Box::new(PartOf::<S, C>(of)));
        }
        self
    }

    /// Those of these cards that are of this kind, too.
    #[must_use]
    pub fn among<C: Card<S>>(self, ids: &[CardId]) -> Self {
        self.and::<C>(ids.iter().filter_map(|id| C::of(*id)))
    }

    fn part(&self, id: CardId) -> Option<&dyn Part<S>> {
        self.0.iter().find(|part| part.has(id)).map(|part| &**part)
    }

    /// Reads the cards from Valkey. Those that Valkey does not have are made from the source, together, and kept. Without
    /// Valkey, all are made from the source.
    pub async fn read(
        &self,
        valkey: &Valkey,
        source: &S,
        reading: &ReadContext,
    ) -> Result<Found, StoreError> {
        let mut wanted: Vec<CardId> = self.0.iter().flat_map(|part| part.ids()).collect();
        wanted.sort_unstable();
        let mut found = Found::default();
        let token = format!("{:016x}", clock::random());
        let mut looks = 0;
        loop {
            let Looked { known, leased, mut busy, mut unknown } =
                self.look(valkey, &wanted, &token, reading).await?;
            if looks == CARD_LOOKS_MAX {
                unknown.append(&mut busy);
            }
            metrics::cards(known.len() as u64, (leased.len() + unknown.len()) as u64);
            found.0.extend(known);
            if !leased.is_empty() || !unknown.is_empty() {
                let missing = [&leased[..], &unknown].concat();
                found.0.extend(self.fetch(source, &missing).await?);
                let mut fills: Vec<Fill> =
                    leased.iter().filter_map(|id| self.fill(*id, &found)).collect();
                fills.sort_unstable_by_key(|fill| fill.id);
                // also if another server does not answer: these have answered just now
                if !fills.is_empty()
                    && let Err(error) = valkey.fill_cards(&fills, &token, reading.time()).await
                {
                    tracing::warn!(error = %Chain(&error), "some cards were not filled");
                }
            }
            if busy.is_empty() {
                return Ok(found);
            }
            clock::sleep(Duration::from_millis(5 << looks)).await;
            (wanted, looks) = (busy, looks + 1);
        }
    }

    /// Makes cards from the source, of all kinds at the same time.
    async fn fetch(
        &self,
        source: &S,
        ids: &[CardId],
    ) -> Result<HashMap<CardId, AnyCard>, StoreError> {
        let parts = self.0.iter().map(|part| part.fetch(source, ids));
        Ok(try_join_all(parts).await?.into_iter().flatten().collect())
    }

    /// The fill of a card that was found. `None`: it was not found.
    fn fill(&self, id: CardId, found: &Found) -> Option<Fill> {
        found.0.get(&id)?;
        let text = self.part(id)?.text(id, found);
        Some(match text {
            Some(Text { text, kept, counts }) => Fill { id, text: Some(text), kept, counts },
            None => Fill { id, text: None, kept: Duration::ZERO, counts: false },
        })
    }

    /// Looks for cards in Valkey. A bucket whose server does not answer counts as one without cards.
    async fn look(
        &self,
        valkey: &Valkey,
        ids: &[CardId],
        token: &str,
        reading: &ReadContext,
    ) -> Result<Looked, StoreError> {
        let now = reading.time();
        let mut looked = Looked::default();
        let read = reading.ask(async { Ok(valkey.read_cards(ids, token, now).await) });
        let Some(buckets) = read.await? else {
            looked.unknown = ids.to_vec();
            return Ok(looked);
        };
        for (ids, read) in buckets {
            let read = match read {
                Ok(read) => read,
                // notes that a server does not answer
                Err(error) => {
                    reading.ask(async { Err::<(), _>(error) }).await?;
                    vec![CardRead::Unknown; ids.len()]
                }
            };
            for (id, read) in ids.into_iter().zip(read) {
                match read {
                    CardRead::Known(text) => {
                        match self.part(id).and_then(|part| part.decode(id, &text)) {
                            Some(card) => drop(looked.known.insert(id, card)),
                            None => {
                                tracing::error!(card = %id, "a card has an unknown form");
                                looked.unknown.push(id);
                            }
                        }
                    }
                    CardRead::Leased => looked.leased.push(id),
                    CardRead::Busy => looked.busy.push(id),
                    CardRead::Unknown => looked.unknown.push(id),
                }
            }
        }
        Ok(looked)
    }

    /// Compares the cards that Valkey has with the source. Returns the texts of those that differ now; a commit whose card is
    /// not marked as stale yet may be among them.
    pub async fn differing(
        &self,
        valkey: &Valkey,
        source: &S,
        now: Time,
    ) -> Result<Compared, StoreError> {
        let wanted: Vec<CardId> = self.0.iter().flat_map(|part| part.ids()).collect();
        let mut kept = HashMap::new();
        for (ids, read) in valkey.read_cards(&wanted, "", now).await {
            for (id, read) in ids.into_iter().zip(read?) {
                let CardRead::Known(text) = read else { continue };
                if let Some(card) = self.part(id).and_then(|part| part.decode(id, &text)) {
                    kept.insert(id, (text, card));
                }
            }
        }
        let ids: Vec<CardId> = kept.keys().copied().collect();
        let right = self.fetch(source, &ids).await?;
        let is_wrong = |id: &CardId, card: &AnyCard| {
            self.part(*id).is_some_and(|part| !part.is_same(card, right.get(id)))
        };
        kept.retain(|id, (_, card)| is_wrong(id, card));
        let differing = kept.into_iter().map(|(id, (text, _))| (id, text)).collect();
        Ok(Compared { cards: ids.len() as u64, differing })
    }
}

/// The result of comparing cards with DynamoDB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared {
    /// The number of cards that were compared.
    pub cards: u64,
    /// The cards that differ, with their texts.
    pub differing: HashMap<CardId, Vec<u8>>,
}

/// What Valkey knows of some cards.
#[derive(Default)]
struct Looked {
    known: HashMap<CardId, AnyCard>,
    /// Cards whose leases this reader has.
    leased: Vec<CardId>,
    /// Cards that other readers are reading.
    busy: Vec<CardId>,
    /// Cards that are made from the source and not kept.
    unknown: Vec<CardId>,
}

/// The names of cards, for the log.
pub fn names(ids: &[CardId]) -> String {
    ids.iter().map(CardId::to_string).collect::<Vec<_>>().join(" ")
}

/// Marks cards as stale after a commit, for writers that answer a request. If Valkey does not answer, the change is
/// shown when its event is handled, so this is not an error.
pub async fn changed(valkey: &Valkey, ids: &[CardId]) {
    if let Err(error) = valkey.cards_changed_within(CARD_MARK_WITHIN, ids).await {
        let cards = names(ids);
        tracing::warn!(
            cards,
            error = %Chain(&error),
            "a change is shown later: its event marks the cards as stale"
        );
    }
}
