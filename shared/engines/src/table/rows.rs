//! Rows under one partition key, in the order of their sort keys. All queries are made here, strongly consistent.
//!
//! DynamoDB may end a page after any row, and a page may be empty: it stops after 1 MB, and a filter takes rows out after they
//! were counted. Only a page without a `LastEvaluatedKey` is the last one. So [`Rows::first`] and [`Rows::all`] go on until then,
//! and a caller of [`Rows::page`] goes on at [`QueryPage::next`].

use fanfold_core::kinds::Pk;
use fanfold_runtime::error::StoreError;

use super::attribute::{Item, text};
use super::name::Table;

/// Some rows under a partition key.
#[derive(Clone)]
pub struct Rows<'a> {
    table: &'a Table,
    doing: &'static str,
    pk: &'a Pk,
    range: Range,
    is_newest_first: bool,
    attributes: Option<&'a str>,
    reserved: Option<&'static str>,
    filter: Option<&'static str>,
}

/// The sort keys of the rows.
#[derive(Clone)]
enum Range {
    All,
    Below(String),
    Above(String),
    Between(String, String),
}

/// A page of a query.
pub struct QueryPage {
    pub rows: Vec<Item>,
    /// The key after which the next page begins. `None`: this is the last one.
    pub next: Option<Item>,
}

impl Table {
    /// All rows under a partition key, by ascending sort key.
    pub fn rows<'a>(&'a self, doing: &'static str, pk: &'a Pk) -> Rows<'a> {
        Rows {
            table: self,
            doing,
            pk,
            range: Range::All,
            is_newest_first: false,
            attributes: None,
            reserved: None,
            filter: None,
        }
    }
}

impl<'a> Rows<'a> {
    /// By descending sort key.
    pub fn newest_first(self) -> Self {
        Self { is_newest_first: true, ..self }
    }

    /// With these attributes alone.
    pub fn only(self, attributes: &'a str) -> Self {
        Self { attributes: Some(attributes), ..self }
    }

    /// With an attribute whose name is a reserved word: `#reserved` among the attributes.
    pub fn reserved(self, name: &'static str) -> Self {
        Self { reserved: Some(name), ..self }
    }

    /// Those that a filter keeps. The others count for limits.
    pub fn kept_by(self, filter: &'static str) -> Self {
        Self { filter: Some(filter), ..self }
    }

    /// Those with a sort key less than this one.
    pub fn below(self, sk: impl ToString) -> Self {
        Self { range: Range::Below(sk.to_string()), ..self }
    }

    /// Those with a sort key greater than this one.
    pub fn above(self, sk: impl ToString) -> Self {
        Self { range: Range::Above(sk.to_string()), ..self }
    }

    /// Those with a sort key of `first` to `last`.
    pub fn between(self, first: String, last: String) -> Self {
        Self { range: Range::Between(first, last), ..self }
    }

    /// A page of at most `limit` rows, after the row with this key. Without `limit`, as many as DynamoDB returns at once.
    pub async fn page(
        &self,
        after: Option<Item>,
        limit: Option<i32>,
    ) -> Result<QueryPage, StoreError> {
        let query = self.table.client.query().table_name(self.table.name(self.doing)?);
        // mutation: consistent-rows
        let query = query.consistent_read(true);
        let query = query.expression_attribute_values(":pk", text(self.pk));
        let query = match &self.range {
            Range::All => query.key_condition_expression("pk = :pk"),
            Range::Below(end) => query
                .key_condition_expression("pk = :pk AND sk < :end")
                .expression_attribute_values(":end", text(end)),
            Range::Above(begin) => query
                .key_condition_expression("pk = :pk AND sk > :begin")
                .expression_attribute_values(":begin", text(begin)),
            Range::Between(first, last) => query
                .key_condition_expression("pk = :pk AND sk BETWEEN :first AND :last")
                .expression_attribute_values(":first", text(first))
                .expression_attribute_values(":last", text(last)),
        };
        let query = match self.reserved {
            Some(name) => query.expression_attribute_names("#reserved", name),
            None => query,
        };
        let page = query
            .set_scan_index_forward(self.is_newest_first.then_some(false))
            .set_projection_expression(self.attributes.map(str::to_owned))
            .set_filter_expression(self.filter.map(str::to_owned))
            .set_limit(limit)
            .set_exclusive_start_key(after)
            .send()
            .await
            .map_err(StoreError::dynamo(self.doing))?;
        Ok(QueryPage { rows: page.items.unwrap_or_default(), next: page.last_evaluated_key })
    }

    /// The first `count` rows after the one with this key, or fewer if no more are left.
    pub async fn first(
        &self,
        mut after: Option<Item>,
        count: usize,
    ) -> Result<Vec<Item>, StoreError> {
        let mut rows = Vec::new();
        loop {
            let page = self.page(after, Some((count - rows.len()) as i32)).await?;
            rows.extend(page.rows);
            after = page.next;
            // mutation: rows-end
            if after.is_none() || rows.len() >= count {
                return Ok(rows);
            }
        }
    }

    /// All rows, read in pages of at most `limit`.
    pub async fn all(&self, limit: Option<i32>) -> Result<Vec<Item>, StoreError> {
        let (mut rows, mut after) = (Vec::new(), None);
        loop {
            let page = self.page(after, limit).await?;
            rows.extend(page.rows);
            after = page.next;
            if after.is_none() {
                return Ok(rows);
            }
        }
    }
}
