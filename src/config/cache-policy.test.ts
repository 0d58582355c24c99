import { expect, test } from "vitest";
import { parseCachePolicy } from "./cache-policy.ts";

test.each([
  [true, "short"],
  ["short", "short"],
  ["long", "long"],
  [false, "off"],
  ["off", "off"],
  ["0", "off"],
  ["0s", "off"],
  ["1ms", "short"],
  ["5m", "short"],
  ["59m 59s", "short"],
  ["60m", "long"],
  ["1h", "long"],
  ["0.5h30m", "long"],
  [" 1d ", "long"],
])("%j is %s", (written, expected) => {
  expect(parseCachePolicy(written)).toBe(expected);
});

test.each(["", "sometimes", "5", "5 years", "-1h", "1h and more", "toString"])(
  "%j is refused",
  (written) => {
    expect(() => parseCachePolicy(written)).toThrow(
      expect.objectContaining({
        code: "config_invalid",
        message: expect.stringContaining("assistant.request.cache: expected true, short"),
      }),
    );
  },
);
