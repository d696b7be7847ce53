/**
 * Time that runs faster, for programs that do not know.
 *
 * libfaketime answers every question for the time, and shortens every sleep, of a process that it is preloaded into.
 * So the contenders and `spillway serve` run as they are shipped, with windows of an hour and waits of 30 s, in a
 * fraction of that. The lookalike needs none of it: it has a time scale of its own.
 */
import { existsSync } from 'node:fs';

const PLACES = [
  '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1',
  '/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1',
  '/usr/lib/faketime/libfaketimeMT.so.1',
  '/usr/lib64/faketime/libfaketimeMT.so.1',
];

/** A clock that runs `scale` times as fast as the wall's, from its making on. */
export class FastTime {
  #began = performance.now();

  /** @param {number} scale how many times faster */
  constructor(scale) {
    this.scale = scale;
    this.library = process.env.LIBFAKETIME ?? PLACES.find((place) => existsSync(place));
    if (!this.library) throw new Error('libfaketime is missing: install it, or name its library in LIBFAKETIME');
  }

  /** Milliseconds of this clock since it was made. */
  now() {
    return (performance.now() - this.#began) * this.scale;
  }

  /** Resolves after `ms` of this clock. */
  sleep(ms) {
    return new Promise((resolve) => setTimeout(resolve, ms / this.scale));
  }

  /** What a process has to be started with to live in this time: all that do agree on the hour. */
  environment() {
    const ahead_s = (this.now() - this.now() / this.scale) / 1_000;
    return { LD_PRELOAD: this.library, FAKETIME: `+${ahead_s.toFixed(3)} x${this.scale}` };
  }
}
