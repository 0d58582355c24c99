// A minimal search of conversations: parse, decode, match, count.
import { readdirSync, readFileSync } from "node:fs";

const [folder, pattern] = process.argv.slice(2);
const decode = (text) => Buffer.from(text, "base64").toString();
const wanted = new RegExp(pattern, "i");

function textOf(event) {
  switch (event.type) {
    case "chat_request":
      return event.content;
    case "chat_response":
      return event.message ?? event.reasoning ?? "";
    case "tool_call_request":
      return Object.values(event.arguments).map(decode).join("\n");
    case "tool_call_response":
      return decode(event.content);
    case "inquiry_request":
      return `${event.question.context}\n${event.question.text}`;
    default:
      return "";
  }
}

for (const name of readdirSync(folder)) {
  const events = JSON.parse(readFileSync(`${folder}/${name}/events.json`, "utf8"));
  let count = 0;
  for (const event of events) {
    const text = textOf(event);
    if (!wanted.test(text)) continue;
    for (const line of text.split("\n")) if (wanted.test(line)) count += 1;
  }
  if (count > 0) console.log(`${name}:${count}`);
}
