// Shows the selection: its charts, without the filtered rows, packed together.
"use strict";
(async () => {
  const packed = Uint8Array.from(atob(document.getElementById("data").textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const data = JSON.parse(await new Response(stream).text());
  const form = document.getElementById("filters");
  const parts = ["case", "size", "operation", "messages", "threads"];
  const names = Object.fromEntries([...data.formats, ...data.languages].map(([key, name]) => [key, name]));
  const describing = new Set(data.formats.filter(([, , , describes]) => describes).map(([key]) => key));
  const classes = Object.fromEntries(data.formats.map(([key, , family]) => [key, family]));
  let sort = { column: 5, ascending: true };

  // Settings that match the selection, except in one part.
  const fitting = (chosen, except) =>
    data.settings.filter((setting) =>
      parts.every((part) => part === except || chosen[part] === "*" || String(setting[part]) === chosen[part]));

  const choice = () => {
    const chosen = {};
    for (const part of parts) chosen[part] = form.elements[part].value;
    const checked = (name) =>
      new Set([...form.querySelectorAll(`input[name=${name}]:checked`)].map((input) => input.value));
    return { chosen, languages: data.languages.length > 1 ? checked("language") : null, formats: checked("format") };
  };

  // Keeps the latest choice; if nothing was measured with the rest, selects the nearest rest.
  const settle = (changed) => {
    const { chosen } = choice();
    if (fitting(chosen).length === 0) {
      const near = data.settings
        .filter((setting) => !changed || chosen[changed] === "*" || String(setting[changed]) === chosen[changed])
        .map((setting) => ({
          setting,
          same: parts.filter((part) => chosen[part] === "*" || String(setting[part]) === chosen[part]).length,
        }))
        .sort((one, other) => other.same - one.same)[0];
      if (near) for (const part of parts) {
        if (chosen[part] !== "*") form.elements[part].value = String(near.setting[part]);
      }
    }
  };

  const show = (place, charts, { languages, formats }) => {
    place.replaceChildren();
    place.className = charts.length > 1 && data.languages.length === 1 ? "all" : "";
    for (const name of charts) {
      if (!Object.hasOwn(data.charts, name)) continue;
      const chart = document.createElement("div");
      chart.innerHTML = data.charts[name];
      for (const panel of chart.querySelectorAll("figure")) {
        panel.hidden = languages !== null && !languages.has(panel.dataset.language);
        pack(panel.querySelector("svg"), formats);
      }
      place.append(chart);
    }
    return place.children.length;
  };

  // Rows move up where others are hidden, and the panel shrinks.
  const pack = (svg, formats) => {
    for (const mark of svg.querySelectorAll("[data-format]")) {
      mark.style.display = formats.has(mark.dataset.format) ? "" : "none";
    }
    join(svg);
    name(svg);
    if (!svg.dataset.row) return;
    const [head, row] = [Number(svg.dataset.head), Number(svg.dataset.row)];
    let count = 0;
    for (const mark of svg.querySelectorAll(".row")) {
      if (mark.style.display === "none") continue;
      mark.setAttribute("transform", `translate(0,${head + row * count})`);
      count += 1;
    }
    svg.closest("figure").classList.toggle("empty", count === 0);
    const [, , width] = svg.getAttribute("viewBox").split(" ");
    const height = head + row * Math.max(count, 1);
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const grid = svg.querySelector(".grid");
    grid.setAttribute("d", grid.getAttribute("d").replace(/V[\d.]+/g, `V${height}`));
  };

  // The line through the points that no other shown one beats in both; those that leave work out do not count.
  const join = (svg) => {
    const places = [...svg.querySelectorAll(".point:not(.part)")]
      .filter((point) => point.style.display !== "none")
      .map((point) => point.querySelector("circle"))
      .map((circle) => [Number(circle.getAttribute("cx")), Number(circle.getAttribute("cy"))])
      .sort((one, other) => one[0] - other[0] || other[1] - one[1]);
    let lowest = -Infinity;
    const kept = places.filter(([, y]) => y > lowest && ((lowest = y), true));
    svg.querySelector(".front")?.setAttribute("d", kept.map(([x, y], index) =>
      `${index ? "L" : "M"}${x} ${y}`).join(""));
  };

  // Names at the right return to their lines where others are hidden: spaced downwards, then up from the floor.
  const name = (svg) => {
    const labels = [...svg.querySelectorAll(".label")].filter((label) => label.style.display !== "none");
    const [step, floor] = [Number(svg.dataset.step), Number(svg.dataset.floor)];
    const places = [];
    for (const label of labels) places.push(Math.max(Number(label.dataset.end), (places.at(-1) ?? -Infinity) + step));
    for (let index = places.length - 1, lowest = floor; index >= 0; index -= 1, lowest = places[index + 1] - step) {
      places[index] = Math.min(places[index], lowest);
    }
    labels.forEach((label, index) => {
      const [lead, words] = label.children;
      words.setAttribute("transform", `translate(0,${places[index] - Number(label.dataset.at)})`);
      lead.setAttribute("d", lead.getAttribute("d").replace(/ [\d.-]+$/, ` ${places[index]}`));
    });
  };

  const digits = (value) => (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2));
  const time = (ns) =>
    ns < 999.5 ? `${digits(ns)} ns` : ns < 999500 ? `${digits(ns / 1e3)} µs` : ns < 999.5e6 ? `${digits(ns / 1e6)} ms`
      : `${digits(ns / 1e9)} s`;
  const bytes = (count) => (count === null ? "" : count < 100 && count % 1 ? count.toFixed(1)
    : Math.round(count).toLocaleString("en"));
  const rate = (ns) => `${digits(1e6 / ns)}`;

  const rowName = (row) => row.library + (row.variant ? `, ${row.variant}` : "");

  const columns = [
    { name: "language", text: (row) => names[row.language] ?? row.language, key: (row) => row.language },
    { name: "format", text: (row) => names[row.format] ?? row.format, key: (row) => names[row.format] ?? row.format,
      swatch: true },
    { name: "library", text: (row) => rowName(row) + (row.caveat ? " †" : ""), key: (row) => row.library + row.variant,
      hint: (row) => row.caveat },
    { name: "version", text: (row) => row.version, key: (row) => row.version },
    { name: "operation", text: (row) => row.operation, key: (row) => row.operation },
    { name: "time", text: (row) => time(row.value), key: (row) => row.value, number: true },
    { name: "interval of 95 %", text: (row) => `${time(row.low)} – ${time(row.high)}`, key: (row) =>
      (row.high - row.low) / row.value, number: true },
    { name: "per ms", text: (row) => rate(row.value), key: (row) => 1 / row.value, number: true },
    { name: "bytes", text: (row) => bytes(row.plain), key: (row) => row.plain ?? Infinity, number: true },
    { name: "zstd", text: (row) => bytes(row.zstd), key: (row) => row.zstd ?? Infinity, number: true },
    { name: "zstd batch", text: (row) => bytes(row.batch), key: (row) => row.batch ?? Infinity, number: true },
    { name: "B allocated", text: (row) => bytes(row.allocated) + (row.allocated !== null && row.language === "python"
      ? " held" : ""), key: (row) => row.allocated ?? Infinity, number: true },
  ];

  const rowsOf = ({ chosen, languages, formats }) => {
    const wanted = new Set(fitting(chosen).filter((setting) => !setting.operation.startsWith("bytes")));
    const rows = [];
    for (const [place, language, format, library, variant, version, value, low, high, allocated, sizes,
      caveat] of data.figures) {
      const setting = data.settings[place];
      if (!wanted.has(setting) || !formats.has(format) || (languages && !languages.has(language))) continue;
      const [plain, zstd, batch] = sizes;
      rows.push({ language, format, library, variant, version, operation: setting.title, value, low, high, allocated,
        plain, zstd, batch, caveat });
    }
    return rows;
  };

  const table = (chosen) => {
    const [head, body] = [document.querySelector("#figures thead"), document.querySelector("#figures tbody")];
    const line = document.createElement("tr");
    columns.forEach((column, index) => {
      const cell = document.createElement("th");
      cell.scope = "col";
      if (column.number) cell.className = "number";
      if (index === sort.column) cell.setAttribute("aria-sort", sort.ascending ? "ascending" : "descending");
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = column.name;
      button.addEventListener("click", () => {
        sort = { column: index, ascending: sort.column === index ? !sort.ascending : true };
        table(choice());
        document.querySelectorAll("#figures thead button")[index].focus();
      });
      cell.append(button);
      line.append(cell);
    });
    head.replaceChildren(line);
    const { key } = columns[sort.column];
    const rows = rowsOf(chosen).sort((one, other) => {
      const [a, b] = [key(one), key(other)];
      const order = typeof a === "number" ? a - b || 0 : String(a).localeCompare(String(b));
      return (sort.ascending ? order : -order) || one.value - other.value;
    });
    if (rows.length === 0) {
      const line = document.createElement("tr");
      const cell = Object.assign(document.createElement("td"), { colSpan: columns.length });
      cell.textContent = "No time is selected. Bytes are in the charts above, and here next to every time.";
      line.append(cell);
      body.replaceChildren(line);
      return;
    }
    body.replaceChildren(...rows.map((row) => {
      const line = document.createElement("tr");
      for (const column of columns) {
        const cell = document.createElement("td");
        if (column.number) cell.className = "number";
        if (column.hint?.(row)) cell.title = column.hint(row);
        if (column.swatch) cell.className = "name";
        if (column.swatch) {
          const swatch = document.createElement("span");
          swatch.className = `swatch f-${classes[row.format] ?? "other"}`;
          cell.append(swatch);
        }
        cell.append(column.text(row));
        line.append(cell);
      }
      return line;
    }));
  };

  // Of each operation and language the fastest row, and the fastest that needs no schema.
  const best = ({ chosen, languages, formats }) => {
    const section = document.getElementById("best-section");
    const rows = rowsOf({ chosen: { ...chosen, operation: "*" }, languages, formats }).filter((row) => !row.caveat);
    const kept = data.languages.filter(([key]) => rows.some((row) => row.language === key));
    section.hidden = rows.length === 0;
    const cell = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });
    const head = document.createElement("tr");
    head.append(cell("th", ""), ...kept.map(([, name]) => Object.assign(cell("th", name), { scope: "col" })));
    const say = (row) => `${names[row.format] ?? row.format}, ${rowName(row)}: ${time(row.value)}`;
    const lines = [...new Set(rows.map((row) => row.operation))].map((operation) => {
      const line = document.createElement("tr");
      line.append(Object.assign(cell("th", operation), { scope: "row" }));
      for (const [language] of kept) {
        const of = rows.filter((row) => row.operation === operation && row.language === language).sort((one, other) =>
          one.value - other.value);
        const place = cell("td", of.length ? say(of[0]) : "–");
        const open = of.find((row) => describing.has(row.format));
        if (open && open !== of[0]) {
          place.append(cell("small", `without a schema ${say(open)}, ${digits(open.value / of[0].value)} times that`));
        } else if (open && of[0] === open) {
          place.append(cell("small", "needs no schema"));
        }
        line.append(place);
      }
      return line;
    });
    document.querySelector("#best thead").replaceChildren(head);
    document.querySelector("#best tbody").replaceChildren(...lines);
  };

  // A description of the view: for screen readers, and to explain an empty selection.
  const tell = ({ chosen, languages, formats }) => {
    const said = (part) => form.elements[part].selectedOptions[0]?.textContent ?? "";
    const settings = new Set(fitting(chosen));
    const count = data.figures.filter(([place, language, format]) =>
      settings.has(data.settings[place]) && formats.has(format) && (languages?.has(language) ?? true)).length;
    const size = form.elements.size.options.length > 1 ? `, ${said("size")}` : "";
    const threads = chosen.threads === "1" ? "" : `, ${chosen.threads} threads`;
    const one = chosen.messages === "one" ? ", one message repeated" : "";
    const operations = chosen.operation === "*" ? "all operations" : said("operation");
    const figures = count === 1 ? "figure" : "figures";
    document.getElementById("shown").textContent = formats.size === 0 || languages?.size === 0
      ? "Nothing is chosen: choose a format and a language."
      : `${said("case")}${size}, ${operations}${one}${threads}: ${count} ${figures}.`;
  };

  // The address holds the selection, so that it can be linked to: #case=zeek&operation=decode&formats=json,cbor
  const keep = ({ chosen, languages, formats }) => {
    const words = parts.map((part) => `${part}=${chosen[part]}`);
    if (languages && languages.size < data.languages.length) words.push(`languages=${[...languages].join(",")}`);
    if (formats.size < data.formats.length) words.push(`formats=${[...formats].join(",")}`);
    history.replaceState(null, "", `#${words.join("&")}`);
  };

  const draw = () => {
    const choosing = choice();
    const { chosen } = choosing;
    const settings = fitting(chosen);
    best(choosing);
    tell(choosing);
    const charts = settings.map((setting) => setting.chart);
    const sizes = data.settings
      .filter((setting) => chosen.operation === "*" && setting.case === chosen.case && setting.size === chosen.size
        && setting.operation.startsWith("bytes"))
      .map((setting) => setting.chart);
    show(document.getElementById("bars"), [...new Set([...charts, ...sizes])], choosing);
    const growth = [...new Set(settings.map((setting) => `${setting.case}-growth-${setting.operation}`))];
    for (const [place, names] of [["scatter", charts.map((name) => `scatter-${name}`)], ["growth", growth]]) {
      const shown = show(document.getElementById(place), names, choosing);
      document.getElementById(`${place}-section`).hidden = shown === 0;
    }
    table(choosing);
  };

  form.addEventListener("change", (event) => {
    if (parts.includes(event.target.name)) settle(event.target.name);
    draw();
    keep(choice());
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  const wanted = { all: () => true, none: () => false, self: (key) => describing.has(key), schema: (key) =>
    !describing.has(key) };
  for (const button of form.querySelectorAll("[data-formats]")) {
    button.addEventListener("click", () => {
      for (const input of form.querySelectorAll("input[name=format]"))
        input.checked = wanted[button.dataset.formats](input.value);
      draw();
      keep(choice());
    });
  }
  const theme = document.getElementById("theme");
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme:dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  if (data.settings.length === 0) return;
  form.hidden = false;
  const first = data.settings[0];
  for (const part of parts) form.elements[part].value = String(first[part]);
  if (data.languages.length === 1) form.elements.operation.value = "*";
  // A link may hold a selection; see `keep`.
  const follow = () => {
    const words = new URLSearchParams(location.hash.slice(1));
    for (const part of parts) {
      const value = words.get(part);
      const element = form.elements[part];
      if ([...element.options].some((option) => option.value === value)) element.value = value;
    }
    for (const [list, name] of [["languages", "language"], ["formats", "format"]]) {
      if (!words.has(list)) continue;
      const kept = new Set(words.get(list).split(","));
      for (const input of form.querySelectorAll(`input[name=${name}]`)) input.checked = kept.has(input.value);
    }
    settle();
    draw();
  };
  addEventListener("hashchange", follow);
  follow();
})();
