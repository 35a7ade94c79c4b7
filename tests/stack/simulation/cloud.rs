//! DynamoDB and SQS in memory, behind the HTTP client of the AWS SDK. The handlers' requests arrive
//! here as the JSON that would go to AWS. Rare events of AWS are frequent here: pages are short, reads
//! that are not consistent return old data, batches are done in part, calls are throttled, and answers
//! are lost after the work was done.
//!
//! A transaction takes time. Until it ends, transactions and writes of the same items are refused. Calls
//! above the limits of an item or a partition key are refused, too; see [`super::capacity`].

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::capacity::Capacity;
use super::expression::{Given, Item, Key, holds, key_range, update, words, words_hold};
use super::units::{PAGE_BYTES_MAX, Units, bytes};
use crate::harness::dice::Dice;

#[derive(Clone, Default)]
pub struct Cloud {
    tables: HashMap<String, BTreeMap<Key, Item>>,
    /// Each item as it was before its last write.
    before: HashMap<(String, Key), Option<Item>>,
    /// The tokens of past transactions: a transaction with one of them does nothing.
    tokens: HashMap<String, ()>,
    /// Transactions that have begun and not ended, by the order in which they began.
    open: BTreeMap<u64, OpenTransaction>,
    next_transaction: u64,
    /// The limits for items and partition keys. None: unlimited.
    pub capacity: Option<Capacity>,
    /// The duration of a transaction, and of any other call.
    pub latency: (Duration, Duration),
    /// Messages that the simulation has not taken yet: the queue's URL and the body.
    pub sent: Vec<(String, String)>,
    /// The same, for messages with a delay, if `keeps_delays`.
    pub delayed: Vec<(String, String, Duration)>,
    /// Whether delays of messages are kept. Otherwise the simulation chooses when each arrives.
    pub keeps_delays: bool,
    pub faults: Faults,
    /// How often a query ends early.
    pub short_pages: Faults,
    /// The number of queries of each table.
    pub queries: HashMap<String, usize>,
    /// The units that DynamoDB would have charged.
    pub units: Units,
    /// Every call with its answer, if the test wants them.
    pub record: Option<Vec<(String, Value, Answer)>>,
}

#[derive(Clone)]
struct OpenTransaction {
    request: Value,
    /// The latest time at which DynamoDB ends the transaction, even if its caller is dead.
    until: Instant,
}

/// The number of a transaction that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transaction(u64);

/// DynamoDB ends a transaction after this time, even if its caller is dead.
const TRANSACTION_MAX: Duration = Duration::from_millis(20);

/// The longest message of SQS.
const MESSAGE_BYTES_MAX: usize = 262_144;
/// How DynamoDB refuses an item that is too large, alone or in a transaction.
const TOO_LARGE: &str = "Item size has exceeded the maximum allowed size";
/// The largest item of DynamoDB.
const ITEM_BYTES_MAX: usize = 400 * 1024;

/// The outcome of a call, apart from its own errors.
pub enum Fate {
    Normal,
    Refused(Answer),
    /// The work is done, but the caller gets an error.
    Lost,
}

/// The answer if the real answer is lost.
pub fn lost() -> Answer {
    (500, json!({"__type": "InternalServerError"}))
}

/// On average, one call in `one_in` has a fault; none, if it is 0.
#[derive(Clone, Default)]
pub struct Faults {
    pub one_in: u64,
    pub dice: Dice,
}

impl Faults {
    pub fn strike(&mut self) -> bool {
        self.one_in > 0 && self.dice.one_in(self.one_in)
    }
}

/// An answer: the status and the body.
pub type Answer = (u16, Value);

fn refused(kind: &str, message: &str) -> Answer {
    (400, json!({"__type": format!("com.amazonaws.dynamodb.v20120810#{kind}"), "message": message}))
}

fn throttled() -> Answer {
    refused("ThrottlingException", "throughput exceeds the limit of an item or partition key")
}

/// The writes of a transaction, each with its kind, such as `Put`.
fn writes_of(request: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let items = request["TransactItems"].as_array().expect("items").iter();
    items.map(|item| {
        let (kind, write) = item.as_object().expect("a write").iter().next().expect("one");
        (kind.as_str(), write)
    })
}

/// The table and the key of the item that a write changes.
fn target_of(kind: &str, write: &Value) -> (String, Key) {
    let table = write["TableName"].as_str().expect("a table").to_owned();
    (table, key_of(if kind == "Put" { &write["Item"] } else { &write["Key"] }))
}

/// The size of the item of a `Put`; 0 for other writes.
fn size_of(write: &Value) -> usize {
    write["Item"].as_object().map_or(0, bytes)
}

/// Whether SQS takes a body: its length, and the characters of its API reference.
fn is_carried(body: &str) -> bool {
    let is_taken = |c| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..);
    body.len() <= MESSAGE_BYTES_MAX && body.chars().all(is_taken)
}

fn key_of(item: &Value) -> Key {
    let part = |name: &str| item[name]["S"].as_str().unwrap_or_default().to_owned();
    (part("pk"), part("sk"))
}

/// The requested attributes of an item.
fn projected(item: &Item, request: &Value) -> Value {
    match request["ProjectionExpression"].as_str() {
        None => Value::Object(item.clone()),
        Some(names) => {
            let given = &request["ExpressionAttributeNames"];
            let name = |name: &'_ str| given[name].as_str().unwrap_or(name).to_owned();
            let names: Vec<String> = names.split(',').map(str::trim).map(name).collect();
            let kept = names.iter().filter_map(|name| item.get_key_value(name));
            Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
        }
    }
}

impl Cloud {
    /// Chooses the outcome of the next call.
    pub fn fate(&mut self) -> Fate {
        if !self.faults.strike() {
            return Fate::Normal;
        }
        match self.faults.dice.below(3) {
            0 => Fate::Refused(refused("ThrottlingException", "slow down")),
            1 => Fate::Refused(lost()),
            _ => Fate::Lost,
        }
    }

    /// Answers a call such as `DynamoDB_20120810.GetItem`, with a random outcome.
    pub fn call(&mut self, target: &str, request: &Value) -> Answer {
        let fate = self.fate();
        self.answer(fate, target, request)
    }

    /// Answers a call with a given outcome.
    pub fn answer(&mut self, fate: Fate, target: &str, request: &Value) -> Answer {
        let operation = target.rsplit('.').next().unwrap_or_default();
        self.end_overdue();
        match fate {
            Fate::Refused(answer) => answer,
            Fate::Lost => {
                self.perform(operation, request);
                lost()
            }
            Fate::Normal => {
                let answer = self.perform(operation, request);
                if let Some(record) = &mut self.record {
                    record.push((target.to_owned(), request.clone(), answer.clone()));
                }
                answer
            }
        }
    }

    fn perform(&mut self, operation: &str, request: &Value) -> Answer {
        match operation {
            "GetItem" => self.get(request),
            "BatchGetItem" => self.batch_get(request),
            "Query" => self.query(request),
            "Scan" => self.scan(request),
            "TransactWriteItems" => match self.begin(request) {
                Ok(transaction) => self.end(transaction),
                Err(answer) => answer,
            },
            "UpdateItem" => self.update(request),
            "DeleteItem" => self.delete(request),
            "BatchWriteItem" => self.batch_write(request),
            "SendMessage" => self.send(request),
            "SendMessageBatch" => self.send_batch(request),
            other => panic!("{other} is not simulated"),
        }
    }

    /// All items of a table, for the tests' own comparisons.
    pub fn items(&self, table: &str) -> impl Iterator<Item = &Item> {
        self.tables.get(table).into_iter().flat_map(BTreeMap::values)
    }

    /// Puts an item into a table, without conditions and faults.
    pub fn put(&mut self, table: &str, item: Item) {
        let key = key_of(&Value::Object(item.clone()));
        self.tables.entry(table.to_owned()).or_default().insert(key, item);
    }

    /// An item; or, at random, the item before its last write, if the read is not consistent.
    fn item(&mut self, table: &str, key: &Key, consistent: &Value) -> Option<&Item> {
        if consistent != &Value::Bool(true)
            && let Some(old) = self.before.get(&(table.to_owned(), key.clone()))
            && self.faults.dice.one_in(2)
        {
            return old.as_ref();
        }
        self.tables.get(table)?.get(key)
    }

    fn get(&mut self, request: &Value) -> Answer {
        let table = request["TableName"].as_str().expect("a table");
        let consistent = &request["ConsistentRead"];
        let key = key_of(&request["Key"]);
        let found = self.item(table, &key, consistent);
        let found = found.map(|item| (bytes(item), projected(item, request)));
        let size = found.as_ref().map_or(0, |(bytes, _)| *bytes);
        if !self.takes(table, &key, Units::of_read(size, consistent), 0.0) {
            return throttled();
        }
        self.units.read(size, consistent);
        match found {
            Some((_, item)) => (200, json!({"Item": item})),
            None => (200, json!({})),
        }
    }

    fn batch_get(&mut self, request: &Value) -> Answer {
        let (mut responses, mut left) = (Map::new(), Map::new());
        for (table, wanted) in request["RequestItems"].as_object().expect("tables") {
            let keys = wanted["Keys"].as_array().expect("keys");
            let mut sorted: Vec<Key> = keys.iter().map(key_of).collect();
            sorted.sort();
            sorted.dedup();
            if sorted.len() != keys.len() || keys.len() > 100 {
                return refused("ValidationException", "at most 100 keys, all different");
            }
            let done = match self.faults.strike() {
                true => self.faults.dice.below(keys.len() as u64 + 1) as usize,
                false => keys.len(),
            };
            let (mut items, mut rest) = (Vec::new(), keys[done..].to_vec());
            for key in &keys[..done] {
                let consistent = &wanted["ConsistentRead"];
                let found = self.item(table, &key_of(key), consistent);
                let found = found.map(|item| (bytes(item), projected(item, wanted)));
                let size = found.as_ref().map_or(0, |(bytes, _)| *bytes);
                if !self.takes(table, &key_of(key), Units::of_read(size, consistent), 0.0) {
                    rest.push(key.clone());
                    continue;
                }
                self.units.read(size, consistent);
                items.extend(found.map(|(_, item)| item));
            }
            if rest.len() == keys.len() && done > 0 {
                return throttled();
            }
            responses.insert(table.clone(), Value::Array(items));
            if !rest.is_empty() {
                let mut remaining = wanted.clone();
                remaining["Keys"] = Value::Array(rest);
                left.insert(table.clone(), remaining);
            }
        }
        (200, json!({"Responses": responses, "UnprocessedKeys": left}))
    }

    fn query(&mut self, request: &Value) -> Answer {
        let (table, given) = (request["TableName"].as_str().expect("a table"), Given::of(request));
        *self.queries.entry(table.to_owned()).or_default() += 1;
        let condition = request["KeyConditionExpression"].as_str().expect("a condition");
        let forward = request["ScanIndexForward"] != Value::Bool(false);
        let start = &request["ExclusiveStartKey"];
        let range = key_range(condition, &given, start.is_object().then(|| key_of(start)), forward);
        let mut limit = request["Limit"].as_u64().unwrap_or(u64::MAX);
        for faults in [&mut self.faults, &mut self.short_pages] {
            if faults.strike() {
                // as if the items reached the size limit of a page, or a filter left out the last ones
                let least = u64::from(!start.is_object());
                limit = limit.min(least + faults.dice.below(4 - least));
            }
        }
        let (mut keys, mut page_bytes): (Vec<Key>, usize) = (Vec::new(), 0);
        let all = range.and_then(|range| Some(self.tables.get(table)?.range(range)));
        let mut all = all.into_iter().flatten();
        let mut stopped = limit == 0;
        while !stopped && let Some((key, item)) = if forward { all.next() } else { all.next_back() }
        {
            keys.push(key.clone());
            page_bytes += bytes(item);
            stopped = keys.len() as u64 >= limit || page_bytes >= PAGE_BYTES_MAX;
        }
        let consistent = &request["ConsistentRead"];
        let pk = &request["ExpressionAttributeValues"][&words(condition)[2]]["S"];
        let pk = pk.as_str().expect("a partition key");
        let units = Units::of_read(page_bytes, consistent);
        if self.capacity.as_mut().is_some_and(|capacity| !capacity.take_query(table, pk, units)) {
            return throttled();
        }
        self.units.read(page_bytes, consistent);
        let filter = request["FilterExpression"].as_str().map(words);
        let mut items = Vec::new();
        for key in &keys {
            let Some(item) = self.item(table, key, &request["ConsistentRead"]) else { continue };
            if filter.as_ref().is_none_or(|filter| words_hold(filter, item, &given)) {
                items.push(projected(item, request));
            }
        }
        let mut answer = json!({"Items": items});
        match keys.last() {
            Some((pk, sk)) if stopped => {
                answer["LastEvaluatedKey"] = json!({"pk": {"S": pk}, "sk": {"S": sk}});
            }
            None if stopped => answer["LastEvaluatedKey"] = start.clone(),
            _ => {}
        }
        (200, answer)
    }

    /// A page of all items of a table. No function scans a table; a bench does.
    fn scan(&mut self, request: &Value) -> Answer {
        let (table, start) = (request["TableName"].as_str(), &request["ExclusiveStartKey"]);
        let from = match start.is_object() {
            true => Bound::Excluded(key_of(start)),
            false => Bound::Unbounded,
        };
        let all = table.and_then(|table| self.tables.get(table));
        let mut all =
            all.into_iter().flat_map(|table| table.range((from.clone(), Bound::Unbounded)));
        let (mut items, mut page_bytes, mut last) = (Vec::new(), 0, None);
        while page_bytes < PAGE_BYTES_MAX
            && let Some((key, item)) = all.next()
        {
            page_bytes += bytes(item);
            items.push(Value::Object(item.clone()));
            last = Some(key);
        }
        let mut answer = json!({"Items": items});
        if let (true, Some((pk, sk))) = (page_bytes >= PAGE_BYTES_MAX, last) {
            answer["LastEvaluatedKey"] = json!({"pk": {"S": pk}, "sk": {"S": sk}});
        }
        self.units.read(page_bytes, &request["ConsistentRead"]);
        (200, answer)
    }

    /// Checks the conditions of a transaction and locks its items. Returns the answer if it is cancelled.
    pub fn begin(&mut self, request: &Value) -> Result<Transaction, Answer> {
        self.end_overdue();
        let token = request["ClientRequestToken"].as_str().unwrap_or_default().to_owned();
        if self.tokens.contains_key(&token) {
            return Err((200, json!({})));
        }
        let mut targets: Vec<_> =
            writes_of(request).map(|(kind, write)| target_of(kind, write)).collect();
        let count = targets.len();
        targets.sort();
        targets.dedup();
        assert!(targets.len() == count && count <= 100, "AWS would refuse {request:#}");
        let mut codes = Vec::new();
        let conflict = self.faults.strike();
        for (kind, write) in writes_of(request) {
            let (table, key) = target_of(kind, write);
            let old = self.tables.entry(table.clone()).or_default().get(&key).cloned();
            let size = old.as_ref().map_or(0, bytes).max(size_of(write));
            let old = old.unwrap_or_default();
            let condition = write["ConditionExpression"].as_str();
            let held = condition.is_none_or(|condition| holds(condition, &old, &Given::of(write)));
            let free = !conflict && !self.is_locked(&table, &key);
            // DynamoDB charges for cancelled transactions, too
            let takes = self.takes(&table, &key, 0.0, Units::of_write(size, 2.0));
            codes.push(match (free, takes, held) {
                _ if size_of(write) > ITEM_BYTES_MAX => "ValidationError",
                (false, _, _) => "TransactionConflict",
                (_, false, _) => "ThrottlingError",
                (_, _, true) => "None",
                (_, _, false) => "ConditionalCheckFailed",
            });
        }
        if codes.iter().any(|code| *code != "None") {
            let reasons: Vec<Value> = codes
                .iter()
                .map(|code| match *code {
                    "ValidationError" => json!({"Code": code, "Message": TOO_LARGE}),
                    _ => json!({"Code": code}),
                })
                .collect();
            let (status, mut body) = refused("TransactionCanceledException", "cancelled");
            body["CancellationReasons"] = Value::Array(reasons);
            return Err((status, body));
        }
        self.tokens.insert(token, ());
        self.next_transaction += 1;
        let duration = TRANSACTION_MAX.max(self.latency.0);
        let open = OpenTransaction { request: request.clone(), until: Instant::now() + duration };
        self.open.insert(self.next_transaction, open);
        Ok(Transaction(self.next_transaction))
    }

    /// Writes the items of a transaction, if it is still open.
    pub fn end(&mut self, Transaction(number): Transaction) -> Answer {
        if let Some(OpenTransaction { request, .. }) = self.open.remove(&number) {
            for (kind, write) in writes_of(&request) {
                self.write(kind, write, 2.0);
            }
        }
        (200, json!({}))
    }

    /// The caller died: DynamoDB ends the transaction now, cancels it, or ends it later.
    pub fn abandon(&mut self, Transaction(number): Transaction) {
        // each with a probability of one third; in the last case, other calls find the items locked
        if self.faults.dice.one_in(3) {
            self.end(Transaction(number));
        } else if self.faults.dice.one_in(2)
            && let Some(OpenTransaction { request, .. }) = self.open.remove(&number)
        {
            self.tokens.remove(request["ClientRequestToken"].as_str().unwrap_or_default());
        }
    }

    fn end_overdue(&mut self) {
        let now = Instant::now();
        let overdue = self.open.iter().filter(|(_, open)| open.until <= now);
        let overdue: Vec<u64> = overdue.map(|(number, _)| *number).collect();
        for number in overdue {
            self.end(Transaction(number));
        }
    }

    /// Whether an open transaction writes this item.
    pub fn is_locked(&self, table: &str, key: &Key) -> bool {
        self.open.values().any(|open| {
            let mut targets = writes_of(&open.request).map(|(kind, write)| target_of(kind, write));
            targets.any(|(other, locked)| other == table && locked == *key)
        })
    }

    fn takes(&mut self, table: &str, key: &Key, reads: f64, writes: f64) -> bool {
        let capacity = self.capacity.as_mut();
        capacity.is_none_or(|capacity| capacity.take(table, key, reads, writes))
    }

    /// The answer to a write of one item if it is refused: the item is locked, or a limit is exceeded.
    fn refusal(&mut self, kind: &str, write: &Value) -> Option<Answer> {
        let (table, key) = target_of(kind, write);
        if size_of(write) > ITEM_BYTES_MAX {
            return Some(refused("ValidationException", TOO_LARGE));
        }
        if self.is_locked(&table, &key) {
            return Some(refused("TransactionConflictException", "a transaction locks the item"));
        }
        let old = self.tables.get(&table).and_then(|table| table.get(&key)).map_or(0, bytes);
        let units = Units::of_write(old.max(size_of(write)), 1.0);
        (!self.takes(&table, &key, 0.0, units)).then(throttled)
    }

    fn update(&mut self, request: &Value) -> Answer {
        if let Some(answer) = self.refusal("Update", request) {
            return answer;
        }
        let table = request["TableName"].as_str().expect("a table").to_owned();
        let key = key_of(&request["Key"]);
        let old = self.tables.entry(table.clone()).or_default().get(&key).cloned();
        let condition = request["ConditionExpression"].as_str();
        let none = Item::new();
        if !condition.is_none_or(|c| holds(c, old.as_ref().unwrap_or(&none), &Given::of(request))) {
            let (status, mut body) =
                refused("ConditionalCheckFailedException", "The conditional request failed");
            if let (Some(old), "ALL_OLD") =
                (old, request["ReturnValuesOnConditionCheckFailure"].as_str().unwrap_or_default())
            {
                body["Item"] = Value::Object(old);
            }
            return (status, body);
        }
        self.write("Update", request, 1.0);
        match request["ReturnValues"].as_str() {
            Some("ALL_NEW") => (200, json!({"Attributes": self.tables[&table][&key]})),
            _ => (200, json!({})),
        }
    }

    fn delete(&mut self, request: &Value) -> Answer {
        if let Some(answer) = self.refusal("Delete", request) {
            return answer;
        }
        let (table, key) = (request["TableName"].as_str().expect("a table"), &request["Key"]);
        let old = self.tables.entry(table.to_owned()).or_default().get(&key_of(key));
        let old = old.cloned().unwrap_or_default();
        let condition = request["ConditionExpression"].as_str();
        if !condition.is_none_or(|condition| holds(condition, &old, &Given::of(request))) {
            return refused("ConditionalCheckFailedException", "The conditional request failed");
        }
        self.write("Delete", request, 1.0);
        (200, json!({}))
    }

    fn batch_write(&mut self, request: &Value) -> Answer {
        let mut left = Map::new();
        for (table, writes) in request["RequestItems"].as_object().expect("tables") {
            let writes = writes.as_array().expect("writes");
            let key = |write: &Value| match &write["PutRequest"] {
                Value::Null => key_of(&write["DeleteRequest"]["Key"]),
                put => key_of(&put["Item"]),
            };
            let mut keys: Vec<Key> = writes.iter().map(key).collect();
            keys.sort();
            keys.dedup();
            if keys.len() != writes.len() || keys.len() > 25 {
                return refused("ValidationException", "at most 25 keys, all different");
            }
            let done = match self.faults.strike() {
                true => self.faults.dice.below(writes.len() as u64 + 1) as usize,
                false => writes.len(),
            };
            let mut rest = writes[done..].to_vec();
            for one in &writes[..done] {
                let (kind, mut write) = match &one["PutRequest"] {
                    Value::Null => ("Delete", one["DeleteRequest"].clone()),
                    put => ("Put", put.clone()),
                };
                write["TableName"] = Value::String(table.clone());
                match self.refusal(kind, &write) {
                    Some(_) => rest.push(one.clone()),
                    None => self.write(kind, &write, 1.0),
                }
            }
            if rest.len() == writes.len() && done > 0 {
                return throttled();
            }
            if !rest.is_empty() {
                left.insert(table.clone(), Value::Array(rest));
            }
        }
        (200, json!({"UnprocessedItems": left}))
    }

    fn write(&mut self, kind: &str, write: &Value, times: f64) {
        let name = write["TableName"].as_str().expect("a table");
        let key = key_of(if kind == "Put" { &write["Item"] } else { &write["Key"] });
        let table = self.tables.entry(name.to_owned()).or_default();
        let old = table.get(&key).cloned();
        match kind {
            "Put" => {
                table.insert(key.clone(), write["Item"].as_object().expect("an item").clone());
            }
            "Delete" => {
                table.remove(&key);
            }
            "Update" => {
                let mut item =
                    old.clone().unwrap_or_else(|| write["Key"].as_object().expect("a key").clone());
                let expression = write["UpdateExpression"].as_str().expect("an expression");
                update(expression, &mut item, &Given::of(write));
                table.insert(key.clone(), item);
            }
            "ConditionCheck" => return,
            other => panic!("{other} is not simulated"),
        }
        let size = |item: Option<&Item>| item.map_or(0, bytes);
        self.units.write(size(old.as_ref()).max(size(table.get(&key))), times);
        self.before.insert((name.to_owned(), key), old);
    }

    fn send(&mut self, request: &Value) -> Answer {
        let text = |name: &str| request[name].as_str().expect("a text").to_owned();
        if !is_carried(&text("MessageBody")) {
            return (400, json!({"__type": "com.amazonaws.sqs#InvalidMessageContents"}));
        }
        self.queue(text("QueueUrl"), text("MessageBody"), &request["DelaySeconds"]);
        (200, json!({"MessageId": "m", "MD5OfMessageBody": ""}))
    }

    fn queue(&mut self, queue: String, body: String, delay: &Value) {
        match delay.as_u64() {
            None | Some(0) => self.sent.push((queue, body)),
            Some(s) if s <= 900 && !self.keeps_delays => self.sent.push((queue, body)),
            Some(s) if s <= 900 => self.delayed.push((queue, body, Duration::from_secs(s))),
            Some(s) => panic!("SQS would refuse a delay of {s} s"),
        }
    }

    fn send_batch(&mut self, request: &Value) -> Answer {
        let (mut successful, mut failed) = (Vec::new(), Vec::new());
        for entry in request["Entries"].as_array().expect("entries") {
            if self.faults.strike() {
                failed.push(json!({"Id": entry["Id"], "SenderFault": false, "Code": "Throttled"}));
                continue;
            }
            let text = |value: &Value| value.as_str().expect("a text").to_owned();
            let (queue, body) = (text(&request["QueueUrl"]), text(&entry["MessageBody"]));
            if !is_carried(&body) {
                let code = "InvalidMessageContents";
                failed.push(json!({"Id": entry["Id"], "SenderFault": true, "Code": code}));
                continue;
            }
            self.queue(queue, body, &entry["DelaySeconds"]);
            successful.push(json!({"Id": entry["Id"], "MessageId": "m", "MD5OfMessageBody": ""}));
        }
        (200, json!({"Successful": successful, "Failed": failed}))
    }
}
