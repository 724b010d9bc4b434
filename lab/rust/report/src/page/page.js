// Shows what is chosen: takes its charts, hides what is filtered out, and packs the rows that stay.
"use strict";
(async () => {
  const packed = Uint8Array.from(atob(document.getElementById("data").textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const data = JSON.parse(await new Response(stream).text());
  const form = document.getElementById("filters");
  const parts = ["case", "size", "operation", "messages", "threads"];
  const names = Object.fromEntries([...data.formats, ...data.languages].map(([key, name]) => [key, name]));
  const classes = Object.fromEntries(data.formats.map(([key, , family]) => [key, family]));
  let sort = { column: 5, ascending: true };

  // Settings that fit what is chosen, but for one part.
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

  // What was just chosen stays; where nothing was measured with the rest, the rest becomes what is nearest to it.
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

  // Rows move up where others were hidden, and the panel becomes as low as they need.
  const pack = (svg, formats) => {
    for (const mark of svg.querySelectorAll("[data-format]")) {
      mark.style.display = formats.has(mark.dataset.format) ? "" : "none";
    }
    if (!svg.dataset.row) return;
    const [head, row] = [Number(svg.dataset.head), Number(svg.dataset.row)];
    let count = 0;
    for (const mark of svg.querySelectorAll(".row")) {
      if (mark.style.display === "none") continue;
      mark.setAttribute("transform", `translate(0,${head + row * count})`);
      count += 1;
    }
    const [, , width] = svg.getAttribute("viewBox").split(" ");
    const height = head + row * Math.max(count, 1);
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const grid = svg.querySelector(".grid");
    grid.setAttribute("d", grid.getAttribute("d").replace(/V[\d.]+/g, `V${height}`));
  };

  const digits = (value) => (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2));
  const time = (ns) =>
    ns < 999.5 ? `${digits(ns)} ns` : ns < 999500 ? `${digits(ns / 1e3)} µs` : ns < 999.5e6 ? `${digits(ns / 1e6)} ms` : `${digits(ns / 1e9)} s`;
  const bytes = (count) => (count === null ? "" : count < 100 && count % 1 ? count.toFixed(1) : Math.round(count).toLocaleString("en"));
  const rate = (ns) => `${digits(1e6 / ns)}`;

  const columns = [
    { name: "language", text: (row) => names[row.language] ?? row.language, key: (row) => row.language },
    { name: "format", text: (row) => names[row.format] ?? row.format, key: (row) => names[row.format] ?? row.format, swatch: true },
    { name: "library", text: (row) => row.library + (row.variant ? `, ${row.variant}` : ""), key: (row) => row.library + row.variant },
    { name: "version", text: (row) => row.version, key: (row) => row.version },
    { name: "operation", text: (row) => row.operation, key: (row) => row.operation },
    { name: "time", text: (row) => time(row.value), key: (row) => row.value, number: true },
    { name: "from", text: (row) => time(row.low), key: (row) => row.low, number: true },
    { name: "to", text: (row) => time(row.high), key: (row) => row.high, number: true },
    { name: "a ms", text: (row) => rate(row.value), key: (row) => row.value, number: true },
    { name: "bytes", text: (row) => bytes(row.plain), key: (row) => row.plain ?? Infinity, number: true },
    { name: "zstd", text: (row) => bytes(row.zstd), key: (row) => row.zstd ?? Infinity, number: true },
    { name: "zstd batch", text: (row) => bytes(row.batch), key: (row) => row.batch ?? Infinity, number: true },
    { name: "allocated", text: (row) => bytes(row.allocated), key: (row) => row.allocated ?? Infinity, number: true },
  ];

  const rowsOf = ({ chosen, languages, formats }) => {
    const wanted = new Set(fitting(chosen).filter((setting) => !setting.operation.startsWith("bytes")));
    const rows = [];
    for (const [place, language, format, library, variant, version, value, low, high, allocated, sizes] of data.figures) {
      const setting = data.settings[place];
      if (!wanted.has(setting) || !formats.has(format) || (languages && !languages.has(language))) continue;
      const [plain, zstd, batch] = sizes;
      rows.push({ language, format, library, variant, version, operation: setting.operation, value, low, high, allocated, plain, zstd, batch });
    }
    return rows;
  };

  const table = (chosen) => {
    const [head, body] = [document.querySelector("#figures thead"), document.querySelector("#figures tbody")];
    const line = document.createElement("tr");
    columns.forEach((column, index) => {
      const cell = document.createElement("th");
      cell.scope = "col";
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
    body.replaceChildren(...rows.map((row) => {
      const line = document.createElement("tr");
      for (const column of columns) {
        const cell = document.createElement("td");
        if (column.number) cell.className = "number";
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

  const draw = () => {
    const choosing = choice();
    const { chosen } = choosing;
    const settings = fitting(chosen);
    const charts = settings.map((setting) => setting.chart);
    const sizes = data.settings
      .filter((setting) => chosen.operation === "*" && setting.case === chosen.case && setting.size === chosen.size && setting.operation.startsWith("bytes"))
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
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const [id, checked] of [["formats-all", true], ["formats-none", false]]) {
    document.getElementById(id).addEventListener("click", () => {
      for (const input of form.querySelectorAll("input[name=format]")) input.checked = checked;
      draw();
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
  // A link may say what it shows: #case=zeek&operation=decode
  for (const [part, value] of new URLSearchParams(location.hash.slice(1))) {
    const element = parts.includes(part) ? form.elements[part] : null;
    if (element && [...element.options].some((option) => option.value === value)) element.value = value;
  }
  settle();
  draw();
})();
