/**
 * What docs/clients/ shows is what the tests run: each block of code there either is a part of a file, named in a
 * comment above it, or says that nothing runs it.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const FOLDER = '../docs/clients';
/** A block, with the comment before it: `<!-- end2end/clients/programs/graph.ts: configure -->` or `<!-- not run -->`. */
const BLOCK = /(?:<!-- (.+?) -->\n)?^ *```(\w*)\n([\s\S]*?)^ *```$/gm;

/** The lines between `docs: NAME` and `docs: end` in a file, without what all of them are indented by. */
function part(file: string, name: string): string {
  const lines = readFileSync(`../${file}`, 'utf8').split('\n');
  const from = lines.findIndex((line) => line.trim().replace(/^(\/\/|#) /, '') === `docs: ${name}`);
  assert.notEqual(from, -1, `${file} has no part "${name}"`);
  const length = lines.slice(from).findIndex((line) => /^(\/\/|#) docs: end$/.test(line.trim()));
  return `${lines.slice(from + 1, from + length).join('\n')}\n`;
}

for (const page of readdirSync(FOLDER)) {
  test(`the code in docs/clients/${page} is what the tests run`, () => {
    const blocks = [...readFileSync(`${FOLDER}/${page}`, 'utf8').matchAll(BLOCK)];
    for (const [, source, , code] of blocks) {
      assert.ok(source, `it is not said where this comes from:\n${code}`);
      if (source.startsWith('not run')) continue;
      const [file, name] = source.split(': ');
      assert.equal(code, part(file, name), source);
    }
  });
}
