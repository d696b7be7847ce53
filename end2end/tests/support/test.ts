import { type ConsoleMessage, test as base, expect } from '@playwright/test';
import { Spillway } from './processes';

/** What a browser itself reports when a server is gone; a page cannot prevent it. */
const CONNECTION_LOST =
  /net::ERR_(CONNECTION_REFUSED|CONNECTION_RESET|INCOMPLETE_CHUNKED_ENCODING|EMPTY_RESPONSE|INTERNET_DISCONNECTED)/;

/** What it reports of those who are signed out. */
const SIGNED_OUT = /status of 401/;

/** Where pages get what is live, and why they do not. */
const LIVE = /\/api\/v1\/(live$|session$|users\/)/;

interface Fixtures {
  spillway: Spillway;
  /** Whether the test takes the server away. */
  serverGoes: boolean;
  /** Whether people have to sign in. */
  closed: boolean;
  /** Whether it is started in a terminal. */
  terminal: boolean;
  /** Whether the test ends the page's session. */
  sessionEnds: boolean;
  /** The end of the address whose refusal the test provokes: the browser reports it by itself. */
  refused: string;
  /** Fails the test for whatever any of its pages complains about. */
  quiet: void;
}

/** A test with a server of its own whose pages may not complain. */
export const test = base.extend<Fixtures>({
  serverGoes: [false, { option: true }],
  closed: [false, { option: true }],
  terminal: [false, { option: true }],
  sessionEnds: [false, { option: true }],
  refused: ['', { option: true }],

  spillway: async ({ context, closed, terminal }, use) => {
    const spillway = await Spillway.start(closed, undefined, terminal);
    await use(spillway);
    // Pages go first: they rightly complain when their server does.
    for (const page of context.pages()) await page.close();
    await spillway.stop();
  },

  quiet: [
    async ({ context, serverGoes, sessionEnds, refused, javaScriptEnabled }, use) => {
      const complaints: string[] = [];
      const expected = (message: ConsoleMessage) => {
        const [text, { url }] = [message.text(), message.location()];
        const provoked =
          refused !== '' && text.startsWith('Failed to load resource') && url.split('?')[0].endsWith(refused);
        const ended = sessionEnds && SIGNED_OUT.test(text) && LIVE.test(url);
        return provoked || ended || (serverGoes && CONNECTION_LOST.test(text) && LIVE.test(url));
      };
      context.on('console', (message) => {
        // Without scripts the browser warns that it loaded what only they would use.
        const bad = message.type() === 'error' || (message.type() === 'warning' && javaScriptEnabled);
        if (bad && !expected(message)) complaints.push(`${message.text()} (${message.location().url})`);
      });
      context.on('weberror', (error) => complaints.push(String(error.error())));
      await context.addInitScript(() => {
        addEventListener('securitypolicyviolation', (event) => {
          console.error(`violates ${event.violatedDirective}: ${event.blockedURI}`);
        });
      });
      await use();
      expect(complaints, 'the pages complain of nothing').toEqual([]);
    },
    { auto: true },
  ],
});

export { expect };
