/** What else a model sends with its reply: sources and files. Each takes one line, so that none can imitate another. */
import type { ReplyFile, ReplySources } from "../../record/conversation/index.ts";
import { formatSize, oneLine } from "../../util/index.ts";

/** Such as `- The moon: https://moon.example/`, below a title. */
export function describeSources({ sources }: ReplySources): readonly string[] {
  const lines = sources.map(({ title, filename, url, mediaType }) => {
    const parts = [title, filename, url].filter((part) => part !== undefined);
    return `- ${oneLine(parts.length === 0 ? (mediaType ?? "unnamed") : parts.join(": "))}`;
  });
  return ["Sources:", ...lines];
}

const DIGITS = 16;

/** Says how to get it: its path is no help in a database, and changes with the title. */
export function describeReplyFile({ mediaType, size, digest }: ReplyFile): string {
  const command = `jp conversation file ${digest.slice(0, DIGITS)} -o …`;
  return `File: ${oneLine(mediaType)}, ${formatSize(size)}. To copy it: ${command}`;
}
