import { createServer, type Server } from 'node:http';
import { Provider } from 'oidc-provider';
import { freePorts } from './support/process';
import { Spillway } from './support/processes';
import { expect, test as base } from '@playwright/test';

const SECRET = 'a secret: with % & signs';

/** A certified provider on this machine, and a server that lets in whom it vouches for. */
const test = base.extend<{ vouching: Spillway }>({
  vouching: async ({ context }, use) => {
    const [port] = await freePorts(1);
    const issuer = `http://127.0.0.1:${port}`;
    const oidc = `[oidc]\nissuer = "${issuer}"\nclient_id = "spillway"\nclient_secret_file = "secret"\nname = "Example ID"\n[oidc.roles]\nops = "operator"\n`;
    const spillway = await Spillway.start(true, { config: oidc, secret: SECRET });
    const server = await provider(issuer, `${spillway.dashboard}/sign-in/callback`, port);
    await use(spillway);
    for (const page of context.pages()) await page.close();
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
    await spillway.stop();
  },
});

async function provider(issuer: string, back: string, port: number): Promise<Server> {
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'spillway',
        client_secret: SECRET,
        redirect_uris: [back],
        application_type: 'native',
        grant_types: ['authorization_code'],
        response_types: ['code'],
        token_endpoint_auth_method: 'client_secret_basic',
      },
    ],
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, preferred_username: `${id}@example.org`, roles: id === 'ana' ? ['ops'] : [] }),
    }),
    claims: { openid: ['sub', 'roles'], profile: ['preferred_username'] },
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    cookies: { keys: ['of this test'] },
  });
  const server = createServer(provider.callback());
  await new Promise<void>((done) => server.listen(port, '127.0.0.1', done));
  return server;
}

for (const javaScriptEnabled of [true, false]) {
  test.describe(javaScriptEnabled ? 'with JavaScript' : 'without JavaScript', () => {
    test.use({ javaScriptEnabled });

    for (const [who, becomes] of [
      ['ana', 'lets in'],
      ['eve', 'keeps out'],
    ]) {
      test(`a certified provider ${becomes} ${who}`, async ({ page, vouching }) => {
        await page.goto(`${vouching.dashboard}/audit`);
        await page.getByRole('link', { name: 'Sign in with Example ID' }).click();
        await page.locator('input[name="login"]').fill(who);
        await page.locator('input[name="password"]').fill('anything');
        await page.locator('button[type="submit"]').click();
        await page.getByRole('button', { name: 'Continue' }).click();
        if (who === 'ana') {
          await expect(page).toHaveURL(`${vouching.dashboard}/audit`);
          await expect(page.locator('.account')).toContainText(/ana@example\.org\s*operator/);
        } else {
          await expect(page.getByRole('alert')).toContainText('gives you no role here');
        }
      });
    }
  });
}
