//! An arena of nodes: nothing in it is dropped recursively.

use html5ever::{LocalName, tendril::StrTendril};

/// A node of a [`Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Id(usize);

/// What a node is.
#[derive(Debug)]
pub(crate) enum Data {
    Element(Element),
    Text(StrTendril),
    Comment(StrTendril),
}

/// A tag with its attributes.
#[derive(Debug)]
pub(crate) struct Element {
    name: LocalName,
    attributes: Vec<(LocalName, StrTendril)>,
}

impl Element {
    pub(crate) fn new(name: LocalName, attributes: Vec<(LocalName, StrTendril)>) -> Self {
        Self { name, attributes }
    }

    /// In lower case.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// An attribute's value, without the spaces around it.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        let mut attributes = self.attributes.iter();
        let (_, value) = attributes.find(|(given, _)| &**given == name)?;
        Some(value.trim())
    }
}

#[derive(Debug)]
struct Node {
    data: Data,
    first: Option<Id>,
    last: Option<Id>,
    next: Option<Id>,
}

/// A document. Its root is an element without a name.
#[derive(Debug)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    /// Whether some elements were nested too deep, and are siblings now.
    pub(crate) flattened: bool,
}

impl Tree {
    pub(crate) fn new() -> Self {
        let root = Data::Element(Element::new(LocalName::from(""), Vec::new()));
        let mut tree = Self {
            nodes: Vec::new(),
            flattened: false,
        };
        tree.add(root);
        tree
    }

    pub(crate) fn root(&self) -> Id {
        Id(0)
    }

    /// Puts a node behind the other children of its parent.
    pub(crate) fn append(&mut self, parent: Id, data: Data) -> Id {
        let id = self.add(data);
        let last = self.nodes.get_mut(parent.0).and_then(|parent| {
            parent.first.get_or_insert(id);
            parent.last.replace(id)
        });
        if let Some(last) = last.and_then(|last| self.nodes.get_mut(last.0)) {
            last.next = Some(id);
        }
        id
    }

    fn add(&mut self, data: Data) -> Id {
        self.nodes.push(Node {
            data,
            first: None,
            last: None,
            next: None,
        });
        Id(self.nodes.len() - 1)
    }

    pub(crate) fn data(&self, id: Id) -> Option<&Data> {
        self.nodes.get(id.0).map(|node| &node.data)
    }

    pub(crate) fn element(&self, id: Id) -> Option<&Element> {
        match self.data(id)? {
            Data::Element(element) => Some(element),
            Data::Text(_) | Data::Comment(_) => None,
        }
    }

    pub(crate) fn children(&self, parent: Id) -> impl Iterator<Item = Id> {
        let first = self.nodes.get(parent.0).and_then(|node| node.first);
        std::iter::successors(first, |id| self.nodes.get(id.0).and_then(|node| node.next))
    }

    /// The text below a node, as it stands there.
    pub(crate) fn text(&self, id: Id) -> String {
        let mut text = String::new();
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            if let Some(Data::Text(more)) = self.data(id) {
                text.push_str(more);
            }
            let from = open.len();
            open.extend(self.children(id));
            open.get_mut(from..).unwrap_or_default().reverse();
        }
        text
    }
}
