import AxeBuilder from '@axe-core/playwright';
import { expect, type Page } from '@playwright/test';

/** Axe finds nothing, and nothing is wider than the page: on a desk and on a phone. */
export async function isSound(page: Page): Promise<void> {
  for (const width of [1240, 360]) {
    await page.setViewportSize({ width, height: 900 });
    expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(wider, `${page.url()} at ${width} px`).toBeLessThanOrEqual(0);
  }
}
