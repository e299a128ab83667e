// The little that HTML cannot do: answer while a form changes, follow progress, copy, click once.
"use strict"
document.documentElement.classList.add("script")

const AGAIN = 400 // milliseconds between two looks at a running estimate
const form = document.getElementById("plan")
const answer = document.getElementById("answer")
const said = document.getElementById("said") // what screen readers read out when it changes

const FOCUS = "a, button, summary, [tabindex]"
const nameOf = (element) => element.tagName + (element.ariaLabel ?? element.textContent)

function post(address, fields) {
  return fetch(address, {method: "POST", body: new URLSearchParams(fields)})
}

// Buttons that copy, and buttons that work once
document.addEventListener("click", async (event) => {
  const button = event.target.closest("button")
  if (!button) return
  if (button.dataset.copy) {
    const text = document.getElementById(button.dataset.copy).textContent
    try {
      await navigator.clipboard.writeText(text)
      button.textContent = "Copied"
    } catch {
      getSelection().selectAllChildren(document.getElementById(button.dataset.copy))
      button.textContent = "Selected"
    }
  }
})
for (const button of document.querySelectorAll("[data-once]")) {
  button.form.addEventListener("submit", (event) => {
    if (button.disabled) event.preventDefault()
    button.disabled = true
    button.textContent = "On its way …"
  })
}
addEventListener("pageshow", (event) => { if (event.persisted) location.reload() })

// The plan
if (form && answer) {
  const slider = document.getElementById("slider")
  const epsilon = document.getElementById("epsilon")
  const values = slider.dataset.values.split(" ")
  let turn = 0, timer = 0, compare = false, stopped = false

  const query = () => {
    const fields = new URLSearchParams(new FormData(form))
    for (const [name, text] of [...fields]) if (!text) fields.delete(name)
    return fields
  }

  // Fields that belong to a choice are shown with it
  const fold = () => {
    const fields = new FormData(form)
    for (const box of form.querySelectorAll("[data-only], [data-unless]")) {
      const [name, text] = (box.dataset.only ?? box.dataset.unless).split("=")
      box.hidden = (fields.get(name) === text) !== ("only" in box.dataset)
    }
  }

  const say = () => slider.setAttribute("aria-valuetext", `epsilon ${epsilon.value}`)

  async function ask(quiet) {
    const mine = ++turn
    clearTimeout(timer)
    const pending = quiet ? [] : [...answer.querySelectorAll("[data-cancel]")]
    for (const one of pending) post("/plan/cancel", {names: one.dataset.cancel})
    const fields = query()
    if (!quiet) history.replaceState(null, "", `/plan?${fields}`)
    if (compare) fields.set("compare", "1")
    if (stopped) fields.set("stopped", "1")
    try {
      const response = await fetch(`/plan/answer?${fields}`)
      const text = await response.text()
      if (mine !== turn) return
      if (!response.ok) throw new Error(response.status)
      show(text)
    } catch {
      if (mine !== turn) return
      const note = document.createElement("p")
      note.className = "warning"
      note.textContent = "The studio does not answer. Is it still running?"
      answer.replaceChildren(note)
      tell()
    }
  }

  // The answer comes again and again while an estimate runs; only what is new is read out
  function tell() {
    for (const one of answer.querySelectorAll("[role=alert]")) one.removeAttribute("role")
    const words = [...answer.querySelectorAll(".headline, .warning")].map((one) => one.textContent)
    if (said.textContent !== words.join(" ")) said.textContent = words.join(" ")
  }

  function show(text) {
    const open = Object.fromEntries(
      [...answer.querySelectorAll("details[data-keep]")].map((box) => [box.dataset.keep, box.open]))
    const held = answer.contains(document.activeElement) && nameOf(document.activeElement)
    const page = new DOMParser().parseFromString(text, "text/html")
    answer.replaceChildren(...page.body.childNodes)
    for (const box of answer.querySelectorAll("details[data-keep]")) {
      if (box.dataset.keep in open) box.open = open[box.dataset.keep]
    }
    const onward = answer.querySelector(".onward a")?.search
    for (const step of document.querySelectorAll("nav a")) {
      if (onward && ["/plan", "/release"].includes(step.pathname)) step.search = onward
    }
    if (held) [...answer.querySelectorAll(FOCUS)].find((one) => nameOf(one) === held)?.focus()
    tell()
    if (answer.querySelector("[data-again]")) timer = setTimeout(() => ask(true), AGAIN)
  }

  const renew = () => { stopped = false; compare = false; fold(); say(); ask(false) }
  slider.addEventListener("input", () => { epsilon.value = values[slider.value]; say() })
  epsilon.addEventListener("change", () => {
    const wanted = Number(epsilon.value)
    const far = (text) => Math.abs(Math.log(Number(text) / wanted))
    if (wanted > 0) slider.value = values.reduce((best, text, k) => far(text) < far(values[best]) ? k : best, 0)
  })
  form.addEventListener("change", renew)
  form.addEventListener("submit", (event) => { event.preventDefault(); renew() })
  answer.addEventListener("click", (event) => {
    const button = event.target.closest("button")
    if (!button) return
    if ("compare" in button.dataset) { compare = true; ask(true) }
    if ("cancel" in button.dataset) {
      clearTimeout(timer)
      stopped = !compare
      compare = false
      post("/plan/cancel", {names: button.dataset.cancel}).then(() => ask(true))
    }
  })
  fold()
  say()
  if (answer.querySelector("[data-again]")) timer = setTimeout(() => ask(true), AGAIN)
}
