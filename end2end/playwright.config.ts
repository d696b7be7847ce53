import { defineConfig, devices } from '@playwright/test';

/** Debian's Chromium; set SPILLWAY_CHROMIUM where it lives elsewhere. */
const executablePath = process.env.SPILLWAY_CHROMIUM ?? '/usr/bin/chromium';

/**
 * The sandbox needs user namespaces that containers and build machines often lack, and the rest keeps the browser
 * from calling hosts of its own: the tests talk to 127.0.0.1 and nobody else.
 */
const args = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export default defineConfig({
  testDir: './tests',
  outputDir: './test-results',
  // Each test starts servers of its own; two at once would make timings of one depend on the other.
  workers: 1,
  fullyParallel: false,
  // A test that passes only the second time hides a bug.
  retries: 0,
  forbidOnly: !!process.env.CI,
  timeout: 60_000,
  expect: { timeout: 10_000 },
  reporter: [['list'], ['json', { outputFile: 'test-results/report.json' }]],
  use: {
    ...devices['Desktop Chrome'],
    launchOptions: { executablePath, args },
    trace: 'retain-on-failure',
  },
});
