import type { Page } from '@playwright/test';
import type { Budget, Layer, State } from './processes';

/** What one gauge shows. */
export interface Meter {
  used: number;
  background: number;
  limit: number;
}

/** Gauges by their label. */
export type Meters = Record<string, Meter>;

/** What the page shows. */
export async function meters(page: Page): Promise<Meters> {
  const all = await page.locator('[role=meter]').evaluateAll((elements) =>
    elements.map((element) => {
      const number = (name: string) => Number(element.getAttribute(name));
      const meter = {
        used: number('aria-valuenow'),
        background: number('data-background'),
        limit: number('aria-valuemax'),
      };
      return [element.getAttribute('aria-label') ?? '', meter] as const;
    }),
  );
  return Object.fromEntries(all);
}

/** What the page has to show of a state: the app, and the user who is closest to a limit. */
export function expected(state: State): Meters {
  // Limits of the upstream's own are shown only in trouble.
  const workloads = state.upstreams.flatMap((upstream) => upstream.workloads.filter((it) => it.name !== '_global'));
  const budgets = workloads.flatMap((it) => it.budgets);
  const shown = [budgets.find((it) => it.scope === 'app'), budgets.find((it) => it.scope === 'user')];
  const entries = shown.filter((it) => it !== undefined).flatMap((budget) =>
    budget.layers.map((layer) => [`${owner(budget)}: ${name(layer)}`, meter(layer)] as const),
  );
  return Object.fromEntries(entries);
}

function owner(budget: Budget): string {
  return budget.scope === 'app' ? `App ${budget.app}` : `User ${budget.user}`;
}

function name(layer: Layer): string {
  if (layer.dimension === 'concurrency') return 'In flight';
  return layer.window_ms === 60_000 ? 'Minute' : 'Hour';
}

function meter(layer: Layer): Meter {
  return { used: layer.used, background: layer.used_background, limit: layer.limit };
}
