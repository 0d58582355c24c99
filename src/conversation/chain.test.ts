import { expect, test } from "vitest";
import { parseConversationId } from "./conversation-id.ts";
import { ChainBuilder } from "./chain.ts";
import { StreamEntry } from "./entry.ts";
import { inquiry, permissionRequest } from "./events.fixture.ts";

test("a link of a request says whom it is for", () => {
  const chain = new ChainBuilder(parseConversationId("jp-c1"));
  const forAny = [{ role: "finance" }, { user: "ada" }];
  const links = [
    { ...permissionRequest("a"), forAny },
    { ...inquiry("a.q.1"), forAny },
    { ...inquiry("a.q.2"), for: "ada" },
  ].map((event) => chain.event(StreamEntry.fromEvent(event), "salt").link.json);
  expect(links).toMatchObject([{ for_any: forAny }, { for_any: forAny }, { for: "ada" }]);
});
