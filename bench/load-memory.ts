/** Prints the peak growth in bytes of a process that loads a conversation. */
import { parseConversationId } from "../src/conversation/index.ts";
import { openBenchWorkspace } from "./workspace.ts";

const [folder = "", id = ""] = process.argv.slice(2);
const workspace = openBenchWorkspace(folder);
const before = process.memoryUsage().rss;
const conversation = await workspace.conversations.load(parseConversationId(id));
const peak = process.resourceUsage().maxRSS * 1024;
console.log(conversation.stream.entries.length > 0 ? peak - before : 0);
