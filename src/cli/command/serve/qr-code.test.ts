import { expect, test } from "vitest";
import { stripVTControlCharacters } from "node:util";
import { renderQrCode } from "./qr-code.ts";

/** Another program has read this one. */
const EXAMPLE = `
                             |
  █▀▀▀▀▀█  ▀▀   ▀▄█ █▀▀▀▀▀█  |
  █ ███ █ ███▄ ▄▄▀▀ █ ███ █  |
  █ ▀▀▀ █ █▄▄▄█▀▄▄█ █ ▀▀▀ █  |
  ▀▀▀▀▀▀▀ █ █▄█ ▀▄▀ ▀▀▀▀▀▀▀  |
  █ █▀▀█▀  ▀ ▀▀▀▀▀▄ ▀█▀▀▀▄   |
  ▄▀█▄█ ▀▄  ▄▀█ ██ ██▄ ▀ ▀█  |
  ████ █▀▀▀ █ ▀█  ██▀▄▀▄▀█▀  |
  █ ▀▀▀▀▀█ ▀██▀▀███▄▀██▀ ▀█  |
  ▀   ▀▀▀▀▄ ▀▀▄▄ ██▀▀▀█▄▀    |
  █▀▀▀▀▀█ ▄▀█ ▄█▀ █ ▀ █▄▀██  |
  █ ███ █ █▄▄ ▀ ▀████▀█▄███  |
  █ ▀▀▀ █ ▀▀▄█▀ ▄▄█  ▄▄█▀ █  |
  ▀▀▀▀▀▀▀ ▀  ▀   ▀ ▀ ▀▀▀▀▀▀  |
                             |
`;

test("a QR code has two modules in each character, and a light margin", () => {
  const rows = renderQrCode("https://desk.example/", { hasColors: true, width: 80 }) ?? [];
  expect(`\n${rows.map((row) => `${stripVTControlCharacters(row)}|`).join("\n")}\n`).toBe(EXAMPLE);
});

test("without colours, the light modules are drawn instead of the dark ones", () => {
  const [dark = [], light = []] = [true, false].map((hasColors) =>
    renderQrCode("https://desk.example/", { hasColors, width: 80 }),
  );
  const opposite: Readonly<Record<string, string>> = { " ": "█", "█": " ", "▀": "▄", "▄": "▀" };
  // The last row has only an upper half.
  expect(light.slice(0, -1)).toEqual(
    dark
      .slice(0, -1)
      .map((row) =>
        stripVTControlCharacters(row).replaceAll(/./gu, (block) => opposite[block] ?? ""),
      ),
  );
});

test("a QR code that is wider than the terminal is not printed", () => {
  expect(renderQrCode("https://desk.example/", { hasColors: true, width: 20 })).toBeUndefined();
});
