import { expect, test } from "vitest";
import { spent } from "./spent";

const sum = { calls: 2, inputTokens: 3000, outputTokens: 120, costs: [] };

test("costs are said as they are on record, each unit by itself", () => {
  const costs = [
    { amount: "9007199254740993.10", unit: "EUR" },
    { amount: "0.0042", unit: "USD" },
  ];
  expect(spent({ ...sum, costs })).toBe("9007199254740993.10 EUR, 0.0042 USD, 3,120 tokens");
  expect(spent(sum)).toBe("3,120 tokens");
});

test("a cost that is in no sum is told of", () => {
  expect(spent({ ...sum, costs: [{ amount: "1", unit: "" }], unread: 1 })).toBe(
    "1, 1 cost that cannot be added, 3,120 tokens",
  );
});
