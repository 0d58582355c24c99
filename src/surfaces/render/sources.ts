/** Lists what a model names as the sources of its reply. Each takes one line, so that none can imitate another. */
import type { ReplySources } from "../../record/conversation/index.ts";
import { oneLine } from "../../util/index.ts";

/** Such as `- The moon: https://moon.example/`, below a title. */
export function describeSources({ sources }: ReplySources): readonly string[] {
  const lines = sources.map(({ title, filename, url, mediaType }) => {
    const parts = [title, filename, url].filter((part) => part !== undefined);
    return `- ${oneLine(parts.length === 0 ? (mediaType ?? "unnamed") : parts.join(": "))}`;
  });
  return ["Sources:", ...lines];
}
