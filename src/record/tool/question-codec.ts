/**
 * Questions to and from the JSON that tools write. Answer types are read in every notation ever used:
 * ours (tagged, snake case) and the older one of tools (`"Boolean"`, `{"Select":{"options":[…]}}`).
 * How the record writes questions is in `record/conversation/`.
 */
import {
  arrayField,
  fieldPath,
  isJsonArray,
  isJsonObject,
  type Json,
  type JsonObject,
  mismatch,
  objectField,
  oneOf,
  optionalBoolean,
  optionalString,
  type Shape,
  ShapeError,
  shapeOf,
  stringField,
} from "../../util/index.ts";
import { explainMisfit, withoutOther } from "./answer.ts";
import {
  type Addressee,
  addresseesOf,
  type AnswerReusePolicy,
  type AnswerType,
  type InquiryQuestion,
  isAddresseeName,
  MAX_ADDRESSEES,
  type Question,
  type SelectOption,
  type SelectType,
} from "./question.ts";

/** Throws `ShapeError`, which says which field is wrong and what was expected. */
export function parseQuestion(value: unknown, path = "question"): Question {
  const shape = shapeOf(value, path);
  const id = stringField(shape, "id");
  if (id === "") throw mismatch(`${path}.id`, "a name", "");
  const question = { id, ...parseInquiryQuestion(shape) };
  const { for: named } = shape.value;
  // A tool must not name someone who would be left out in a record: others than it meant could answer.
  const count = Array.isArray(named) ? named.length : 1;
  if (named != null && addresseesOf(question)?.length !== count) throw notNamed(path);
  assertAnswerable(question, path);
  assertReuseFields(question, path);
  return question;
}

/** It is recorded with every question: digests fit, contents do not. */
const MAX_BINDING_BYTES = 1024;

/**
 * Throws `ShapeError` if a tool's binding is too long to record, its label would not be seen at the prompt, or it names
 * no one who could be shown.
 */
export function assertReuseFields(question: Question, path = "question"): void {
  const { binding = "", rememberAs } = question;
  const named = addresseesOf(question);
  const isCounted = named === undefined || (named.length > 0 && named.length <= MAX_ADDRESSEES);
  if (!isCounted || named?.every(isNamed) === false) throw notNamed(path);
  if (rememberAs?.trim() === "") {
    throw mismatch(`${path}.remember_as`, "a label that is not blank", rememberAs);
  }
  if (new TextEncoder().encode(binding).length <= MAX_BINDING_BYTES) return;
  const problem = `longer than ${MAX_BINDING_BYTES} bytes. Send a digest instead`;
  throw new ShapeError(`${path}.binding`, problem);
}

/** Untyped programs may pass anything. */
function isNamed(each: Addressee): boolean {
  const [known] = findAddressee(each);
  return known !== undefined && isAddresseeName("user" in known ? known.user : known.role);
}

function notNamed(path: string): ShapeError {
  const expected = `{"user": "NAME"}, {"role": "NAME"} or a list of at most ${MAX_ADDRESSEES} of these`;
  return new ShapeError(`${path}.for`, `expected ${expected}`);
}

/** A tool's question must be answerable. Questions of old records are not checked. */
function assertAnswerable({ answerType, default: suggested }: Question, path: string): void {
  if (answerType.type === "select") {
    const values = answerType.options.map(({ value }) => JSON.stringify(value));
    const optionsPath = `${path}.answer_type.options`;
    if (values.length === 0) {
      throw new ShapeError(optionsPath, "a select needs at least one option");
    }
    const duplicate = findDuplicate(values);
    if (duplicate !== undefined) throw new ShapeError(optionsPath, `duplicate option ${duplicate}`);
  }
  const problem =
    suggested === undefined ? undefined : explainMisfit(withoutOther(answerType), suggested);
  if (problem !== undefined) throw new ShapeError(`${path}.default`, problem);
}

/** The first text that occurs twice. Linear: a tool may send a megabyte of them. */
export function findDuplicate(texts: readonly string[]): string | undefined {
  const seen = new Set<string>();
  return texts.find((text) => seen.size === seen.add(text).size);
}

/** The fields that tools and the record have in common. `context` used to be called `pre_amble`. */
export function parseInquiryQuestion(shape: Shape): InquiryQuestion {
  const context = optionalString(shape, "context") ?? optionalString(shape, "pre_amble");
  const suggested = shape.value["default"];
  const rememberAs = optionalString(shape, "remember_as");
  const binding = optionalString(shape, "binding");
  return {
    text: stringField(shape, "text"),
    ...(context !== undefined && { context }),
    answerType: answerTypeIn(shape),
    ...(suggested != null && { default: suggested }),
    exclusive: optionalBoolean(shape, "exclusive") ?? false,
    persistence: parsePersistence(shape),
    ...(optionalBoolean(shape, "note") === true && { allowsNote: true }),
    ...(optionalBoolean(shape, "acts") === true && { acts: true }),
    ...(rememberAs !== undefined && { rememberAs }),
    ...(binding !== undefined && { binding }),
    ...parseFor(shape.value["for"]),
  };
}

/** Leaves out addressees that this version does not know: then fewer people may answer, or no one. */
function parseFor(named: Json | undefined): Pick<InquiryQuestion, "for"> {
  if (named == null) return {};
  const [only] = findAddressee(named);
  if (only !== undefined) return { for: only };
  return { for: isJsonArray(named) ? named.flatMap(findAddressee) : [] };
}

function findAddressee(each: Json): readonly Addressee[] {
  if (!isJsonObject(each) || Object.keys(each).length !== 1) return [];
  const { user, role } = each;
  if (typeof user === "string") return [{ user }];
  return typeof role === "string" ? [{ role }] : [];
}

/** A `question` block may have a JSON Schema instead. */
function answerTypeIn(shape: Shape): AnswerType {
  const { answer_type: answerType, schema } = shape.value;
  return answerType == null && schema != null
    ? parseAnswerSchema(objectField(shape, "schema"))
    : parseAnswerType(answerType, fieldPath(shape, "answer_type"));
}

/** The schemas that a person can answer in one line. Throws `ShapeError` for others. */
function parseAnswerSchema(shape: Shape): AnswerType {
  const { type, enum: values, oneOf: choices, format, writeOnly } = shape.value;
  if (values !== undefined || choices !== undefined) return parseSchemaOptions(shape);
  if (type === "boolean") return { type };
  if (type === "array") {
    const { allowsOther: _, ...select } = parseSchemaOptions(objectField(shape, "items"));
    return { ...select, isMultiple: true };
  }
  if (type === "string") {
    return { type: writeOnly === true || format === "password" ? "secret" : "text" };
  }
  const expected = "the schema of a boolean, a string, an enum or a list of an enum's values";
  throw new ShapeError(shape.path, `expected ${expected}. Ask for text and parse it yourself`);
}

/** `enum`, or `oneOf` and `anyOf` with a `const` and a `title` each, as in forms of MCP. */
function parseSchemaOptions(shape: Shape): SelectType {
  const { enum: values, anyOf } = shape.value;
  if (values !== undefined) {
    return { type: "select", options: arrayField(shape, "enum").map((value) => ({ value })) };
  }
  const key = anyOf === undefined ? "oneOf" : "anyOf";
  const options = arrayField(shape, key).map((value, index) => {
    const option = shapeOf(value, `${fieldPath(shape, key)}[${index}]`);
    const title = optionalString(option, "title");
    if (option.value["const"] === undefined)
      throw mismatch(`${option.path}.const`, "a value", undefined);
    return { value: option.value["const"], ...(title !== undefined && { title }) };
  });
  return { type: "select", options };
}

/** The JSON form that tools write. */
export function questionToWire(question: Question): JsonObject {
  return {
    id: question.id,
    text: question.text,
    ...(question.context !== undefined && { context: question.context }),
    answer_type: answerTypeToWire(question.answerType),
    ...(question.default !== undefined && { default: question.default }),
    ...reusePolicyToJson(question),
    ...(question.binding !== undefined && { binding: question.binding }),
  };
}

/** Omits defaults, so that older readers see only fields they know. */
export function reusePolicyToJson(question: InquiryQuestion): JsonObject {
  return {
    ...(question.exclusive && { exclusive: true }),
    ...(question.persistence !== "turn" && { persistence: question.persistence }),
    ...(question.allowsNote === true && { note: true }),
    ...(question.acts === true && { acts: true }),
    ...(question.rememberAs !== undefined && { remember_as: question.rememberAs }),
    ...forToJson(question),
  };
}

function forToJson({ for: named }: InquiryQuestion): JsonObject {
  if (named === undefined) return {};
  const all = addresseesOf({ for: named }) ?? [];
  const [only] = all;
  return {
    for: "length" in named || only === undefined ? all.map((each) => ({ ...each })) : { ...only },
  };
}

function parsePersistence(shape: Shape): AnswerReusePolicy {
  if (shape.value["persistence"] == null) return "turn";
  return oneOf(shape, "persistence", ["none", "turn"]);
}

function answerTypeToWire(answerType: AnswerType): JsonObject {
  if (answerType.type !== "select") return { type: answerType.type };
  const options = answerType.options.map((option) => {
    const more = optionToJson(option);
    const isPlain = typeof option.value === "string" && Object.keys(more).length === 0;
    return isPlain ? option.value : { value: option.value, ...more };
  });
  return { type: "select", options, ...selectToJson(answerType) };
}

const OLD_NAMES: Readonly<Record<string, AnswerType>> = {
  Boolean: { type: "boolean" },
  Text: { type: "text" },
  Secret: { type: "secret" },
};

/** Throws `ShapeError`. */
export function parseAnswerType(value: unknown, path: string): AnswerType {
  if (typeof value === "string") return parseOlderName(value, path);
  const shape = shapeOf(value, path);
  if (isJsonObject(shape.value["Select"]))
    return parseSelect(shape.value["Select"], `${path}.Select`);
  const type = oneOf(shape, "type", ["boolean", "select", "text", "secret"]);
  return type === "select" ? parseSelect(value, path) : { type };
}

function parseOlderName(name: string, path: string): AnswerType {
  const found = Object.hasOwn(OLD_NAMES, name) ? OLD_NAMES[name] : undefined;
  if (found === undefined) {
    throw mismatch(path, '{"type": "boolean" | "select" | "text" | "secret"}', name);
  }
  return found;
}

function parseSelect(value: unknown, path: string): AnswerType {
  const shape = shapeOf(value, path);
  const options = arrayField(shape, "options").map((option, index) =>
    parseOption(option, `${path}.options[${index}]`),
  );
  return {
    type: "select",
    options,
    ...(optionalBoolean(shape, "other") === true && { allowsOther: true }),
    ...(optionalBoolean(shape, "multiple") === true && { isMultiple: true }),
  };
}

/** The fields of a select other than its options. Tools and the record write them alike. */
export function selectToJson({ allowsOther, isMultiple }: SelectType): JsonObject {
  return {
    ...(allowsOther === true && { other: true }),
    ...(isMultiple === true && { multiple: true }),
  };
}

/** The fields of an option other than its value. Tools and the record write them alike. */
export function optionToJson({ title, description, preview }: SelectOption): JsonObject {
  return {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(preview !== undefined && { preview }),
  };
}

function parseOption(value: Json, path: string): SelectOption {
  if (typeof value === "string") return { value };
  const shape = shapeOf(value, path);
  if (shape.value["value"] === undefined) throw mismatch(`${path}.value`, "a value", undefined);
  const title = optionalString(shape, "title");
  const description = optionalString(shape, "description");
  const preview = optionalString(shape, "preview");
  return {
    value: shape.value["value"],
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(preview !== undefined && { preview }),
  };
}
