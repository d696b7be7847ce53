/** What the programs share that has nothing to do with the clients under test. */

/** Does it for each item, so many at once; the results in the items' order. */
export async function inParallel<T, R>(width: number, items: T[], act: (item: T) => Promise<R>): Promise<R[]> {
  const results = new Array<R>(items.length);
  let next = 0;
  const lane = async () => {
    while (next < items.length) {
      const index = next++;
      results[index] = await act(items[index]);
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
  return results;
}

/** Hands the results to the test that runs the program. */
export function report(results: object): void {
  console.log(JSON.stringify(results));
}
