/** A queue and its workers: the usual shape of a background job. */
export class Pool {
  #waiting = [];
  #idle;
  #handle;

  /**
   * @param {number} workers how many pages are in progress at once
   * @param {(page: Page) => Promise<void>} handle what a worker does with a page; it must not throw
   */
  constructor(workers, handle) {
    this.#idle = workers;
    this.#handle = handle;
  }

  /** Puts a page at the end of the queue. */
  push(page) {
    this.#waiting.push(page);
    this.#next();
  }

  /** Puts a page there in `ms`, while its worker goes on with others. */
  pushLater(page, ms) {
    setTimeout(() => this.push(page), ms);
  }

  async #next() {
    if (this.#idle === 0 || this.#waiting.length === 0) return;
    this.#idle -= 1;
    await this.#handle(this.#waiting.shift());
    this.#idle += 1;
    this.#next();
  }
}
