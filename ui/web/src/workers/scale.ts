/** scaleOf returns where a scale ends that has room for a number: 2, 4 or 10 times a power of ten, so that half is whole. */
export function scaleOf(n: number): number {
  let power = 1;
  for (;;) {
    for (const step of [2, 4, 10]) if (n <= step * power) return step * power;
    power *= 10;
  }
}
