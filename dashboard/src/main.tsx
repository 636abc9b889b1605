import { render } from "preact";
import { App } from "./app";
import "./style.css";
import { applyTheme, savedTheme } from "./ui/theme";

applyTheme(savedTheme());
render(<App />, document.getElementById("app") as HTMLElement);
