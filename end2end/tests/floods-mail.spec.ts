import AxeBuilder from '@axe-core/playwright';
import { expect, test as base, type Page } from '@playwright/test';
import { Post } from './support/post';
import { PASSWORD, Spillway } from './support/processes';

const LIST = '/api/v1/sites/s1/lists/l1';
const ANN = 'ann@example.org';

interface World {
  spillway: Spillway;
  post: Post;
  /** Reports so many events that the component is disabled; what is decided of them. */
  flood: () => Promise<string[]>;
}

/** A site whose admin gets mail, and a list that two events of a minute disable. */
const test = base.extend<{ world: World }>({
  world: async ({ context }, use) => {
    const post = await Post.start();
    const mail = `[mail]\nsmtp_url = "smtp://127.0.0.1:${post.port}"\nfrom = "spillway@example.org"\n`;
    const spillway = await Spillway.start(true, { config: mail, secret: '' });
    const token = (scope: string) =>
      spillway.command('token', 'create', '--role', 'admin', '--scope', scope, '--name', scope);
    const [events, write, read] = ['events', 'write', 'read'].map(token);
    const ask = async (method: string, path: string, bearer: string, body?: unknown, match?: string) => {
      const headers: Record<string, string> = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' };
      if (match) headers['if-match'] = match;
      const answer = await fetch(spillway.dashboard + path, { method, headers, body: JSON.stringify(body) });
      expect(answer.ok, `${method} ${path}: ${answer.status}`).toBe(true);
      return answer;
    };
    await ask('PUT', '/api/v1/sites/s1', write, { title: 'Orders', admins: [ANN], time_zone: 'Europe/Berlin' });
    const path = '/api/v1/flood-policies/action';
    const etag = (await ask('GET', path, read)).headers.get('etag') ?? '';
    const policy = { per_minute: 2, strikes_per_day: 1, grace: 0 };
    await ask('PUT', path, write, { policy, reason: 'a test' }, etag);
    const event = { site: 's1', list: 'l1', component: 'action', trigger: 'event' };
    const flood = async () => {
      // Four are in two minutes at most.
      const told = await (await ask('POST', '/api/v1/events', events, [event, event, event, event])).json();
      return told.map((it: { decision: string }) => it.decision);
    };
    await use({ spillway, post, flood });
    for (const page of context.pages()) await page.close();
    await spillway.stop();
    await post.stop();
  },
});

function link(text: string): string {
  return /^http\S+\/site\?key=\S+$/m.exec(text)?.[0] ?? '';
}

async function arrived(post: Post, number: number): Promise<void> {
  await expect.poll(() => post.mails.length, { timeout: 20_000 }).toBe(number);
}

async function isSound(page: Page): Promise<void> {
  for (const width of [1240, 360]) {
    await page.setViewportSize({ width, height: 900 });
    expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(wider).toBeLessThanOrEqual(0);
  }
}

/** Where the middle of a line was clicked, no button lies then. */
async function open(page: Page, words: string): Promise<void> {
  const summary = page.locator('summary', { hasText: words });
  const box = await summary.boundingBox();
  await summary.click();
  const button = await page.getByRole('button', { name: /it$|^Re-enable/ }).first().boundingBox();
  expect((button?.y ?? 0) >= (box?.y ?? 0) + (box?.height ?? 0)).toBe(true);
}

for (const javaScriptEnabled of [true, false]) {
  test.describe(javaScriptEnabled ? 'with JavaScript' : 'without JavaScript', () => {
    test.use({ javaScriptEnabled });

    test('a site admin re-enables from the mail, and the next flood disables at once with another', async ({ page, world }) => {
      expect(await world.flood()).toContain('disabled');
      await arrived(world.post, 1);
      const [mail] = world.post.mails;
      expect([mail.to, mail.subject]).toEqual([ANN, '[Spillway] Orders: action is disabled on l1']);
      await page.goto(link(mail.text));
      await expect(page.getByRole('heading', { level: 1 })).toHaveText('l1');
      const card = page.getByRole('region', { name: 'action' });
      await expect(card).toContainText('Disabled since');
      await expect(card.getByRole('meter', { name: 'Strikes today' })).toHaveAttribute('aria-valuetext', '1 of 1');
      await open(page, 'Re-enable action');
      await card.getByLabel('Why, for others who look').fill('the rule is mended');
      await page.getByRole('button', { name: 'Re-enable action' }).click();
      await expect(page.getByRole('status')).toContainText('action is re-enabled');
      await expect(page.getByText('All events of this list are handled.')).toBeVisible();
      const happened = page.getByRole('region', { name: 'What happened' });
      await expect(happened).toContainText(`by ${ANN}`);
      await expect(happened).toContainText('the rule is mended');

      expect(await world.flood()).toContain('disabled');
      await arrived(world.post, 2);
      expect(world.post.mails[1].id).not.toBe(mail.id);
      await page.goto(link(world.post.mails[1].text));
      await expect(card).toContainText('Disabled since');
    });

    test('a site admin pauses and resumes a list', async ({ page, world }) => {
      await world.flood();
      await arrived(world.post, 1);
      await page.goto(link(world.post.mails[0].text));
      await open(page, 'Pause the list');
      await page.locator('select[name="minutes"]').selectOption('4 hours');
      await page.getByLabel('Why, for others who look').last().fill('bulk import');
      await page.getByRole('button', { name: 'Pause it' }).click();
      await expect(page.getByRole('status')).toContainText('The list is paused until');
      expect(await world.flood()).toEqual(['paused', 'paused', 'paused', 'paused']);
      await open(page, 'Resume the list');
      await page.getByRole('button', { name: 'Resume it' }).click();
      await expect(page.getByRole('status')).toContainText('The list is resumed');

      await open(page, 'Pause the list');
      await page.getByLabel('Why, for others who look').last().fill('a mistake');
      await page.getByRole('button', { name: 'Pause it' }).click();
      await page.getByRole('button', { name: 'Undo' }).click();
      await expect(page.getByRole('status')).toContainText('The list is resumed');
    });
  });
}

test('a viewer can neither re-enable nor pause', async ({ page, world }) => {
  await world.flood();
  world.spillway.user('add', 'vera', '--role', 'viewer');
  await page.goto(`${world.spillway.dashboard}/sign-in`);
  await page.getByLabel('Name').fill('vera');
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in' }).click();
  const until = new Date(Date.now() + 3_600_000).toISOString();
  const wishes = { enable: { component: 'action' }, pause: { until, reason: 'x' }, resume: {} };
  for (const [act, data] of Object.entries(wishes)) {
    const answer = await page.request.post(`${world.spillway.dashboard}${LIST}/${act}`, { data });
    expect([answer.status(), (await answer.json()).code]).toEqual([403, 'role_missing']);
  }
  const list = await (await page.request.get(world.spillway.dashboard + LIST)).json();
  expect(list.components[0].state).toBe('disabled');
  // What the mail said is shown to viewers, the link by which they could act is not.
  await arrived(world.post, 1);
  expect(list.letters[0].text).not.toContain('key=');
});

for (const colorScheme of ['light', 'dark'] as const) {
  test.describe(colorScheme, () => {
    test.use({ colorScheme });

    test('axe finds nothing on the page of a site admin, nor is anything wider than it', async ({ page, world }) => {
      await world.flood();
      await arrived(world.post, 1);
      await page.goto(link(world.post.mails[0].text));
      await isSound(page);
      for (const details of await page.locator('summary').all()) await details.click();
      await isSound(page);
      await page.goto(`${world.spillway.dashboard}/site?key=nonsense`);
      await expect(page.getByRole('heading', { name: 'No such link' })).toBeVisible();
      await isSound(page);
    });
  });
}
