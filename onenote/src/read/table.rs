//! Tables: rows of cells, and whatever else stands between them.

use super::{Reader, flow::Flow, inline::Around};
use crate::{
    Kind,
    html::{Data, Element, Id},
    model::{Block, Table},
};

/// Columns that a merged cell may add, at most.
const SPAN_MAX: usize = 100;

impl Reader<'_> {
    pub(super) fn table(&mut self, id: Id, element: &Element, around: &Around, flow: &mut Flow) {
        self.end_line(flow);
        let look = self.look(element, around.look);
        let mut table = Table::default();
        self.rows(
            id,
            &Around {
                look,
                ..around.clone()
            },
            &mut table,
            false,
        );
        table.rows.retain(|row| !row.is_empty());
        if !table.rows.is_empty() {
            flow.blocks.push(Block::Table(table));
        }
    }

    fn rows(&mut self, id: Id, around: &Around, table: &mut Table, head: bool) {
        let tree = self.tree;
        for child in tree.children(id) {
            match tree.element(child).map_or("", Element::name) {
                "tr" => self.row(child, around, table, head),
                "thead" => self.rows(child, around, table, true),
                "tbody" | "tfoot" => self.rows(child, around, table, false),
                _ => self.stray_cell(child, around, table),
            }
        }
    }

    fn row(&mut self, id: Id, around: &Around, table: &mut Table, head: bool) {
        let tree = self.tree;
        let Some(element) = tree.element(id) else {
            return;
        };
        let look = self.look(element, around.look);
        let around = Around {
            look,
            ..around.clone()
        };
        let (mut row, mut heads) = (Vec::new(), true);
        for child in tree.children(id) {
            match tree.element(child) {
                Some(cell) if matches!(cell.name(), "td" | "th") => {
                    heads &= head || cell.name() == "th";
                    self.cell(child, cell, &around, &mut row);
                }
                _ => row.extend(self.outside_cells(child, &around)),
            }
        }
        table.has_header |= table.rows.is_empty() && heads && !row.is_empty();
        table.rows.push(row);
    }

    fn cell(&mut self, id: Id, cell: &Element, around: &Around, row: &mut Vec<Vec<Block>>) {
        let look = self.look(cell, around.look);
        row.push(self.blocks(
            id,
            &Around {
                look,
                ..around.clone()
            },
        ));
        let span = |name| {
            cell.attribute(name)
                .and_then(|span| span.parse::<usize>().ok())
                .unwrap_or(1)
        };
        let (columns, rows) = (span("colspan"), span("rowspan"));
        if columns > 1 || rows > 1 {
            self.warn(Kind::MergedCells, &format!("{columns} × {rows}"));
        }
        row.extend((1..columns.min(SPAN_MAX)).map(|_| Vec::new()));
    }

    /// Text that is in the table but in no row of it, as a row of one cell.
    fn stray_cell(&mut self, id: Id, around: &Around, table: &mut Table) {
        let cell = self.outside_cells(id, around);
        table.rows.extend(cell.map(|cell| vec![cell]));
    }

    fn outside_cells(&mut self, id: Id, around: &Around) -> Option<Vec<Block>> {
        if let Some(Data::Text(text)) = self.tree.data(id)
            && text.trim().is_empty()
        {
            return None;
        }
        let mut flow = Flow::default();
        self.node(id, around, &mut flow);
        self.end_line(&mut flow);
        (!flow.blocks.is_empty()).then_some(flow.blocks)
    }
}
