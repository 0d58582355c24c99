import { expect, test } from "vitest";
import { asksForSecret } from "./secret-field.ts";

test.each([
  "password",
  "userPassword",
  "DB_PASSWD",
  "pass phrase",
  "clientSecret",
  "token",
  "access-token",
  "GitHubToken",
  "apiKey",
  "API Key",
  "APIKey",
  "private_key",
  "credentials",
  "SSN",
  "creditCardNumber",
  "card_number",
  "cvv",
  "PIN",
  "otp",
])("%s is the name of a secret", (name) => {
  expect([asksForSecret(name, {}), asksForSecret("x", { title: name })]).toEqual([true, true]);
});

test.each([
  "name",
  "email",
  "max_tokens",
  "maxTokens",
  "compass",
  "passenger",
  "spinner",
  "keyboard",
  "secretary",
  "cardinality",
  "pinned",
])("%s is not", (name) => {
  expect(asksForSecret(name, { title: "What?" })).toBe(false);
});

test("what is written only, or as a password, is a secret by any name", () => {
  expect([
    asksForSecret("x", { format: "password" }),
    asksForSecret("x", { writeOnly: true }),
    asksForSecret("x", { format: "email", writeOnly: false }),
  ]).toEqual([true, true, false]);
});
