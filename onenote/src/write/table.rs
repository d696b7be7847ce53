//! Tables: as wide as Notion takes them, rows of one width, and below them what their cells cannot hold.

use super::{Writer, cell::Cell, leaf, text::Limits};
use crate::{
    Kind,
    model::{self, Table, Text},
    notion::{Block, Body, RichText},
};

/// Columns of a table: a row's cells are an array (developers.notion.com/reference/request-limits).
const COLUMNS_MAX: usize = 100;

/// Bytes of JSON in one row: a table is sent with a row at least, in a request of 500 kB.
const ROW_BYTES_MAX: usize = 300_000;

impl Writer<'_> {
    pub(super) fn table(&mut self, table: Table, out: &mut Vec<Block>) {
        let width = table.rows.iter().map(Vec::len).max().unwrap_or(0);
        if width == 0 {
            return;
        }
        let parts = width.div_ceil(COLUMNS_MAX);
        if parts > 1 {
            self.warnings
                .add(Kind::WideTable, &format!("{width} columns"), "");
        }
        let mut tables = Tables::new(width, table.has_header);
        let mut below = Vec::new();
        for (row, cells) in table.rows.into_iter().enumerate() {
            tables.begin_row();
            for (column, blocks) in cells.into_iter().enumerate() {
                let limits = Limits {
                    bytes: ROW_BYTES_MAX / width.min(COLUMNS_MAX),
                };
                let text = self.cell(Cell::of(blocks), limits, (row, column), &mut below);
                tables.put(column, text);
            }
        }
        out.extend(tables.parts);
        out.append(&mut below);
    }

    /// What the cell says; the rest goes below.
    fn cell(
        &mut self,
        cell: Cell,
        limits: Limits,
        at: (usize, usize),
        below: &mut Vec<Block>,
    ) -> Vec<RichText> {
        let mut pieces = self.pieces(cell.text, limits).into_iter().peekable();
        let text = pieces.next().unwrap_or_default();
        if pieces.peek().is_none() && cell.below.is_empty() {
            return text;
        }
        let place = format!("row {}, column {}", at.0 + 1, at.1 + 1);
        self.warnings.add(Kind::BelowTable, &place, "");
        let label =
            model::Block::Paragraph(Text::plain(format!("From {place} of the table above:")));
        self.block(label, below);
        below.extend(pieces.map(|piece| leaf(Body::Paragraph(piece))));
        self.blocks(cell.below, below);
        text
    }
}

/// The tables that one becomes, beside each other in OneNote and below each other in Notion.
struct Tables {
    parts: Vec<Block>,
}

impl Tables {
    fn new(width: usize, has_header: bool) -> Self {
        let widths = (0..width.div_ceil(COLUMNS_MAX))
            .map(|part| (width - part * COLUMNS_MAX).min(COLUMNS_MAX));
        let parts = widths.map(|width| leaf(Body::Table { width, has_header }));
        Self {
            parts: parts.collect(),
        }
    }

    fn begin_row(&mut self) {
        for part in &mut self.parts {
            if let Body::Table { width, .. } = part.body {
                part.children
                    .push(leaf(Body::TableRow(vec![Vec::new(); width])));
            }
        }
    }

    fn put(&mut self, column: usize, text: Vec<RichText>) {
        let part = self.parts.get_mut(column / COLUMNS_MAX);
        let row = part.and_then(|part| part.children.last_mut());
        if let Some(Block {
            body: Body::TableRow(cells),
            ..
        }) = row
            && let Some(cell) = cells.get_mut(column % COLUMNS_MAX)
        {
            *cell = text;
        }
    }
}
