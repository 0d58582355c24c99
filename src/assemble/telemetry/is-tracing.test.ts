import { expect, test } from "vitest";
import { wantsContent } from "./index.ts";

const asked = (value: string | undefined) =>
  wantsContent({ OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: value });

test("spans have content only if the variable for it says so", () => {
  expect(["true", "TRUE", "SPAN_ONLY", "SPAN_AND_EVENT"].map(asked)).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect([undefined, "", "false", "0", "NO_CONTENT", "EVENT_ONLY", "yes"].filter(asked)).toEqual(
    [],
  );
});
