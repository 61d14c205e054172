// JSON read without changing it. JSON.parse makes floats of numbers: an account
// 9007199254740993 becomes ...992. Here each number, string and name keeps its
// source, the text it has on record.
"use strict";

const exact = (() => {
  // read returns a JSON text as a tree. A node has its kind: object (members,
  // each with its name and the name's source), array (items), or text (source).
  // What is not JSON is thrown as JSON.parse throws it.
  function read(text) {
    JSON.parse(text);
    let at = 0;
    const next = () => {
      while (" \t\n\r".includes(text[at])) {
        at++;
      }
      return text[at];
    };
    const taken = (mark) => next() === mark && ++at > 0; // and passed over
    const source = () => {
      const start = at;
      if (text[at] === '"') {
        for (at++; text[at] !== '"'; at++) {
          at += text[at] === "\\" ? 1 : 0;
        }
        at++;
      } else {
        while (at < text.length && !" \t\n\r,]}".includes(text[at])) {
          at++;
        }
      }
      return text.slice(start, at);
    };
    const list = (end, one) => {
      const all = [];
      for (at++; !taken(end); taken(",")) {
        all.push(one());
      }
      return all;
    };
    const entry = () => {
      next();
      const name = source();
      taken(":");
      return { name: JSON.parse(name), source: name, value: value() };
    };
    const value = () => {
      switch (next()) {
        case "{": return { kind: "object", members: list("}", entry) };
        case "[": return { kind: "array", items: list("]", value) };
        default: return { kind: "text", source: source() };
      }
    };
    return value();
  }

  // write returns a tree as a text; line(depth) is what stands between its parts,
  // colon between a name and its value, token(source) what a source is shown as.
  function write(node, { line, colon, token }, depth = 1) {
    const inside = (open, parts, close) => (parts.length
      ? open + line(depth) + parts.join(`,${line(depth)}`) + line(depth - 1) + close
      : open + close);
    const deeper = (n) => write(n, { line, colon, token }, depth + 1);
    switch (node.kind) {
      case "object": return inside("{", node.members.map((m) => token(m.source) + colon + deeper(m.value)), "}");
      case "array": return inside("[", node.items.map(deeper), "]");
      default: return token(node.source);
    }
  }
  // compact is what is sent: each source as it is.
  const compact = (node) => write(node, { line: () => "", colon: ":", token: (source) => source });
  // pretty is what people read. Strings lose escapes that say nothing, as
  // in R\u0026D; that they can be given back see keep.
  // Hidden characters get one.
  const readable = (source) => (source[0] === '"' ? hidden.escaped(JSON.stringify(JSON.parse(source))) : source);
  const pretty = (node) => write(node, { line: (depth) => `\n${"  ".repeat(depth)}`, colon: ": ", token: readable });

  // keep returns an edited tree with the sources of the original wherever the two
  // say the same, so that what nobody touched is sent as it is on record.
  function keep(edited, original) {
    switch (edited.kind === original?.kind && edited.kind) {
      case "object": return { ...edited, members: edited.members.map((m, i) => {
        const place = original.members[i]?.name === m.name ? original.members[i] : original.members.find((o) => o.name === m.name);
        return { ...m, source: place?.source || m.source, value: keep(m.value, place?.value) };
      }) };
      case "array": return { ...edited, items: edited.items.map((n, i) => keep(n, original.items[i])) };
      case "text": return readable(edited.source) === readable(original.source) ? original : edited;
      default: return edited;
    }
  }

  // texts returns the strings and names in a tree.
  const texts = (node) => {
    switch (node?.kind) {
      case "object": return node.members.flatMap((m) => [m.name, ...texts(m.value)]);
      case "array": return node.items.flatMap(texts);
      case "text": return node.source[0] === '"' ? [JSON.parse(node.source)] : [];
      default: return [];
    }
  };

  // member returns an object's member, the last of that name as JSON.parse does;
  // undefined where there is none.
  const member = (node, name) => node?.members?.findLast((m) => m.name === name)?.value;

  // fill returns what an edit of a value begins with: of an object those members
  // that the schema has a place for, and those it requires, with their default,
  // or null, which a person has to replace. Without such a schema it is the value.
  function fill(value, schema) {
    const properties = member(schema, "properties");
    if (!properties || (value && value.kind !== "object")) {
      return value;
    }
    const closed = member(schema, "additionalProperties")?.source === "false" && !member(schema, "patternProperties");
    const members = [];
    for (const m of value?.members || []) {
      const property = member(properties, m.name);
      if (property || !closed) {
        members.push({ ...m, value: fill(m.value, property) });
      }
    }
    for (const { source } of member(schema, "required")?.items || []) {
      const name = JSON.parse(source);
      if (!members.some((m) => m.name === name)) {
        const property = member(properties, name);
        members.push({ name, source, value: member(property, "default") || fill(undefined, property) || { kind: "text", source: "null" } });
      }
    }
    return { kind: "object", members };
  }

  return { read, compact, pretty, keep, texts, member, fill };
})();
