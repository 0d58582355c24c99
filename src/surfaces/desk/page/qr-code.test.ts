import { expect, test } from "vitest";
import { type QrCode, toQrCode } from "./qr-code.ts";

/** By ISO/IEC 18004, which also says what is read below. */
const MASKS: readonly ((x: number, y: number) => boolean)[] = [
  (x, y) => (x + y) % 2 === 0,
  (_x, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(y / 2) + Math.floor(x / 3)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
];

function modulesOf({ path }: QrCode): (x: number, y: number) => boolean {
  const dark = new Set([...path.matchAll(/M(\d+ \d+)h/g)].map(([, place]) => place));
  return (x, y) => dark.has(`${x} ${y}`);
}

/** The level of correction, and the mask. */
function formatOf(code: QrCode): readonly [level: string | undefined, mask: number] {
  const isDark = modulesOf(code);
  const bits = [0, 1, 2, 3, 4].map((x) => Number(isDark(x, 8))).join("");
  const format = Number.parseInt(bits, 2) ^ 0b10101;
  return [["M", "L", "H", "Q"][format >> 3], format & 0b111];
}

/** Reads a code of version 2 to 5, whose data is not interleaved at the lowest level of correction. */
function read(code: QrCode): string {
  const { size } = code;
  const isDark = modulesOf(code);
  const mask = MASKS[formatOf(code)[1]];
  const isFixed = (x: number, y: number) =>
    x === 6 ||
    y === 6 ||
    (x < 9 && (y < 9 || y >= size - 8)) ||
    (x >= size - 8 && y < 9) ||
    (Math.abs(x - (size - 7)) < 3 && Math.abs(y - (size - 7)) < 3);
  let bits = "";
  let isUp = true;
  for (let right = size - 1; right > 0; right -= right === 8 ? 3 : 2) {
    for (let step = 0; step < size; step += 1) {
      const y = isUp ? size - 1 - step : step;
      for (const x of [right, right - 1]) {
        if (!isFixed(x, y)) bits += Number(isDark(x, y) !== mask?.(x, y));
      }
    }
    isUp = !isUp;
  }
  const take = (count: number) => {
    const value = Number.parseInt(bits.slice(0, count), 2);
    bits = bits.slice(count);
    return value;
  };
  expect([take(4), take(8), take(4)]).toEqual([7, 26, 4]); // Bytes, in UTF-8.
  return Buffer.from(Array.from({ length: take(8) }, () => take(8))).toString();
}

test.each([
  "https://desk.example/#login=Xk3b9",
  "https://box.tail1234.ts.net/#login=A1b2C3d4E5f6G7h8",
  "https://büro.example/#login=A1b2C3d4E5f6G7h8",
])("a QR code can be read by the standard: %s", (text) => {
  expect(read(toQrCode(text))).toBe(text);
});

test("a QR code with room for it corrects more", () => {
  const [short, long] = ["https://a.example/", "https://a.example/1234567"].map(toQrCode);
  expect([short?.size, long?.size]).toEqual([25, 25]);
  expect([short, long].map((code) => code && formatOf(code)[0])).toEqual(["Q", "M"]);
});
