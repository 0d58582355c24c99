import { expect, test } from "vitest";
import { readDocument } from "../support/documents.ts";
import { DOCUMENT, renderFigures } from "./propose-figures.ts";

test(
  "the documentation has the figures of the rules that are proposed",
  { timeout: 900_000 },
  async () => {
    const { text } = readDocument(DOCUMENT);
    expect(text).toBe(await renderFigures(text));
  },
);
