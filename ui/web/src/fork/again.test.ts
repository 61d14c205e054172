import { expect, test } from "vitest";
import { whileBusy } from "./again";

test("a busy thread is asked again, a few times, and nothing else is", async () => {
  const refusing = (times: number, code: string) => {
    let calls = 0;
    const call = () => (++calls <= times ? Promise.reject({ code }) : Promise.resolve(calls));
    return { call, calls: () => calls };
  };
  expect(await whileBusy(refusing(2, "busy").call, 0)).toBe(3);
  const long = refusing(100, "busy");
  await expect(whileBusy(long.call, 0)).rejects.toEqual({ code: "busy" });
  expect(long.calls()).toBe(5);
  const other = refusing(1, "conflict");
  await expect(whileBusy(other.call, 0)).rejects.toEqual({ code: "conflict" });
  expect(other.calls()).toBe(1);
});
