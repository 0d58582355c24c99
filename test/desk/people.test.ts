/** Accounts that administrators add, on the page. */
import { expect, test } from "vitest";
import { openPeople, RIGHTS } from "../../src/settings/people/index.ts";
import { Project } from "../cli/support.ts";
import { counters } from "../security/threats.ts";
import { openPage, startDesk, useBrowser } from "./support.ts";

const openContext = useBrowser();

test("an account that one administrator has added is confirmed by another, and sees that it was not", async () => {
  counters("T-PEOPLE-8");
  const project = new Project();
  const people = openPeople(project.data);
  const ada = await people.add("ada", RIGHTS);
  const mallory = await people.add("mallory", RIGHTS);
  const id = (await people.list()).find(({ name }) => name === "mallory")?.id ?? "";
  const bob = await people.as({ channel: "desk", id, name: "mallory" }).add("bob", ["see"]);
  const desk = await startDesk(project);
  const open = async (token: string) => openPage(await openContext(), desk.pageUrl, token);
  const openList = async (token: string) => {
    const page = await open(token);
    await page.locator(".account").click();
    await page.getByRole("button", { name: "People" }).click();
    await page.getByText("added at the desk by mallory; not confirmed").waitFor();
    return page;
  };
  await (await open(bob)).getByText("Your account is not confirmed yet.").waitFor();
  const [maker, other] = [await openList(mallory), await openList(ada)];
  expect(await maker.getByRole("button", { name: "Confirm bob" }).count()).toBe(0);
  await other.getByRole("button", { name: "Confirm bob" }).click();
  await other.getByText("bob is confirmed.").waitFor();
  const page = await open(bob);
  expect(await page.getByText("Your account is not confirmed yet.").count()).toBe(0);
});
