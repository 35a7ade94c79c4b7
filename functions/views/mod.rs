//! What several functions read from requests and show in answers. The comments on fields are part of the API description.

pub mod people;
pub mod posts;
pub mod tags;

/// A page of a list: its items, each as this view, and the cursor of the next page.
macro_rules! list_view {
    ($(#[$about:meta])* $name:ident, $(#[$items:meta])* $view:ty) => {
        $(#[$about])*
        #[derive(Debug, serde::Serialize, utoipa::ToSchema)]
        pub struct $name {
            $(#[$items])*
            pub items: Vec<$view>,
            /// The cursor of the next page. Null at the end of the list.
            #[schema(required)]
            pub next_cursor: Option<String>,
        }

        impl $name {
            pub fn new<L: fanfold_core::List, T: Into<$view>>(
                list: &L,
                page: fanfold_engines::list::Page<T, L::Place>,
            ) -> Self {
                let page = page.map(T::into);
                Self { next_cursor: page.next.map(|place| list.cursor(&place)), items: page.items }
            }
        }
    };
}
pub(crate) use list_view;
