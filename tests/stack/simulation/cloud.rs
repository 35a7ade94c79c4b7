//! DynamoDB and SQS in memory, behind the AWS SDK's own HTTP client: the handlers' requests come
//! here as the JSON that would go to AWS. What AWS does now and then happens often: pages are
//! short, reads that did not ask for consistency are old, batches are done in part, calls are
//! throttled, and answers are lost after the work was done.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value, json};

use super::expression::{Given, Item, Key, hold, holds, key_range, update, words};
use super::units::{PAGE_BYTES_MAX, Units, bytes};
use crate::harness::dice::Dice;

#[derive(Clone, Default)]
pub struct Cloud {
    tables: HashMap<String, BTreeMap<Key, Item>>,
    /// What an item was before it was last written.
    before: HashMap<(String, Key), Option<Item>>,
    /// Transactions by their token: a repeated one does nothing.
    tokens: HashMap<String, ()>,
    /// What was sent, until the simulation takes it: the queue's URL and the body.
    pub sent: Vec<(String, String)>,
    pub faults: Faults,
    pub queries: u64,
    /// What DynamoDB would have charged for.
    pub units: Units,
    /// Every call and its answer, if they are wanted.
    pub record: Option<Vec<(String, Value, Answer)>>,
}

/// One call in so many goes wrong; none, if 0.
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

fn key_of(item: &Value) -> Key {
    let part = |name: &str| item[name]["S"].as_str().unwrap_or_default().to_owned();
    (part("pk"), part("sk"))
}

/// Those attributes that were asked for.
fn projected(item: &Item, request: &Value) -> Value {
    match request["ProjectionExpression"].as_str() {
        None => Value::Object(item.clone()),
        Some(names) => {
            let names: Vec<&str> = names.split(',').map(str::trim).collect();
            let kept = names.iter().filter_map(|name| item.get_key_value(*name));
            Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
        }
    }
}

impl Cloud {
    /// Answers a call such as `DynamoDB_20120810.GetItem`.
    pub fn call(&mut self, target: &str, request: &Value) -> Answer {
        let operation = target.rsplit('.').next().unwrap_or_default();
        if self.faults.strike() {
            match self.faults.dice.below(3) {
                0 => return refused("ThrottlingException", "slow down"),
                1 => return (500, json!({"__type": "InternalServerError"})),
                _ => {
                    // done, but nobody learns of it
                    self.perform(operation, request);
                    return (500, json!({"__type": "InternalServerError"}));
                }
            }
        }
        let answer = self.perform(operation, request);
        if let Some(record) = &mut self.record {
            record.push((target.to_owned(), request.clone(), answer.clone()));
        }
        answer
    }

    fn perform(&mut self, operation: &str, request: &Value) -> Answer {
        match operation {
            "GetItem" => self.get(request),
            "BatchGetItem" => self.batch_get(request),
            "Query" => self.query(request),
            "TransactWriteItems" => self.transact(request),
            "UpdateItem" => self.update(request),
            "DeleteItem" => self.delete(request),
            "BatchWriteItem" => self.batch_write(request),
            "SendMessage" => self.send(request),
            "SendMessageBatch" => self.send_batch(request),
            other => panic!("{other} is not modelled"),
        }
    }

    /// All items of a table, for the oracle.
    pub fn items(&self, table: &str) -> impl Iterator<Item = &Item> {
        self.tables.get(table).into_iter().flat_map(BTreeMap::values)
    }

    /// Puts an item there, as it is.
    #[allow(dead_code, reason = "the benches fill their tables with it")]
    pub fn put(&mut self, table: &str, item: Item) {
        let key = key_of(&Value::Object(item.clone()));
        self.tables.entry(table.to_owned()).or_default().insert(key, item);
    }

    /// An item, or what it was before if that will do.
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
        let found = self.item(table, &key_of(&request["Key"]), consistent);
        let found = found.map(|item| (bytes(item), projected(item, request)));
        self.units.read(found.as_ref().map_or(0, |(bytes, _)| *bytes), consistent);
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
                return refused("ValidationException", "keys must differ, 100 at the most");
            }
            let done = match self.faults.strike() {
                true => self.faults.dice.below(keys.len() as u64 + 1) as usize,
                false => keys.len(),
            };
            let mut items = Vec::new();
            for key in &keys[..done] {
                let found = self.item(table, &key_of(key), &wanted["ConsistentRead"]);
                let found = found.map(|item| (bytes(item), projected(item, wanted)));
                let size = found.as_ref().map_or(0, |(bytes, _)| *bytes);
                self.units.read(size, &wanted["ConsistentRead"]);
                items.extend(found.map(|(_, item)| item));
            }
            responses.insert(table.clone(), Value::Array(items));
            if done < keys.len() {
                let mut rest = wanted.clone();
                rest["Keys"] = Value::Array(keys[done..].to_vec());
                left.insert(table.clone(), rest);
            }
        }
        (200, json!({"Responses": responses, "UnprocessedKeys": left}))
    }

    fn query(&mut self, request: &Value) -> Answer {
        self.queries += 1;
        let (table, given) = (request["TableName"].as_str().expect("a table"), Given::of(request));
        let condition = request["KeyConditionExpression"].as_str().expect("a condition");
        let forward = request["ScanIndexForward"] != Value::Bool(false);
        let start = &request["ExclusiveStartKey"];
        let range = key_range(condition, &given, start.is_object().then(|| key_of(start)), forward);
        let mut limit = request["Limit"].as_u64().unwrap_or(u64::MAX);
        if self.faults.strike() {
            limit = limit.min(1 + self.faults.dice.below(3)); // a page has a megabyte at the most
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
        self.units.read(page_bytes, &request["ConsistentRead"]);
        let filter = request["FilterExpression"].as_str().map(words);
        let mut items = Vec::new();
        for key in &keys {
            let Some(item) = self.item(table, key, &request["ConsistentRead"]) else { continue };
            if filter.as_ref().is_none_or(|filter| hold(filter, item, &given)) {
                items.push(projected(item, request));
            }
        }
        let mut answer = json!({"Items": items});
        if let (true, Some((pk, sk))) = (stopped, keys.last()) {
            answer["LastEvaluatedKey"] = json!({"pk": {"S": pk}, "sk": {"S": sk}});
        }
        (200, answer)
    }

    fn transact(&mut self, request: &Value) -> Answer {
        let items = request["TransactItems"].as_array().expect("items");
        let token = request["ClientRequestToken"].as_str().unwrap_or_default().to_owned();
        if self.tokens.contains_key(&token) {
            return (200, json!({}));
        }
        let writes: Vec<(&String, &Value)> = items
            .iter()
            .map(|item| item.as_object().expect("a write").iter().next().expect("one"))
            .collect();
        let mut codes = Vec::new();
        let conflict = self.faults.strike();
        for (kind, write) in &writes {
            let key = key_of(if *kind == "Put" { &write["Item"] } else { &write["Key"] });
            let table = self.tables.entry(write["TableName"].as_str().expect("a table").to_owned());
            let old = table.or_default().get(&key).cloned().unwrap_or_default();
            let condition = write["ConditionExpression"].as_str();
            let held = condition.is_none_or(|condition| holds(condition, &old, &Given::of(write)));
            codes.push(match (held, conflict) {
                (_, true) => "TransactionConflict",
                (true, _) => "None",
                (false, _) => "ConditionalCheckFailed",
            });
        }
        if codes.iter().any(|code| *code != "None") {
            let reasons: Vec<Value> = codes.iter().map(|code| json!({"Code": code})).collect();
            let (status, mut body) = refused("TransactionCanceledException", "cancelled");
            body["CancellationReasons"] = Value::Array(reasons);
            return (status, body);
        }
        for (kind, write) in writes {
            self.write(kind, write, 2.0);
        }
        self.tokens.insert(token, ());
        (200, json!({}))
    }

    fn update(&mut self, request: &Value) -> Answer {
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
                return refused("ValidationException", "keys must differ, 25 at the most");
            }
            let done = match self.faults.strike() {
                true => self.faults.dice.below(writes.len() as u64 + 1) as usize,
                false => writes.len(),
            };
            for write in &writes[..done] {
                let (kind, mut write) = match &write["PutRequest"] {
                    Value::Null => ("Delete", write["DeleteRequest"].clone()),
                    put => ("Put", put.clone()),
                };
                write["TableName"] = Value::String(table.clone());
                self.write(kind, &write, 1.0);
            }
            if done < writes.len() {
                left.insert(table.clone(), Value::Array(writes[done..].to_vec()));
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
            other => panic!("{other} is not modelled"),
        }
        let size = |item: Option<&Item>| item.map_or(0, bytes);
        self.units.write(size(old.as_ref()).max(size(table.get(&key))), times);
        self.before.insert((name.to_owned(), key), old);
    }

    fn send(&mut self, request: &Value) -> Answer {
        let text = |name: &str| request[name].as_str().expect("a text").to_owned();
        self.sent.push((text("QueueUrl"), text("MessageBody")));
        (200, json!({"MessageId": "m", "MD5OfMessageBody": ""}))
    }

    fn send_batch(&mut self, request: &Value) -> Answer {
        let (mut successful, mut failed) = (Vec::new(), Vec::new());
        for entry in request["Entries"].as_array().expect("entries") {
            if self.faults.strike() {
                failed.push(json!({"Id": entry["Id"], "SenderFault": false, "Code": "Throttled"}));
                continue;
            }
            let text = |value: &Value| value.as_str().expect("a text").to_owned();
            self.sent.push((text(&request["QueueUrl"]), text(&entry["MessageBody"])));
            successful.push(json!({"Id": entry["Id"], "MessageId": "m", "MD5OfMessageBody": ""}));
        }
        (200, json!({"Successful": successful, "Failed": failed}))
    }
}
