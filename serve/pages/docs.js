// The API's page: Swagger UI over /openapi.json.
"use strict";

const dark = matchMedia("(prefers-color-scheme: dark)");
const followScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", followScheme);
followScheme();

SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#operations",
  deepLinking: true,
  displayRequestDuration: true,
  // Every operation is a GET without side effects: its form needs no button that opens it.
  tryItOutEnabled: true,
  supportedSubmitMethods: ["get"],
  // Colouring a snapshot of several MB would stop the browser for seconds.
  syntaxHighlight: { activated: false },
  defaultModelsExpandDepth: -1,
  // A validator on another host would be sent the address of this one.
  validatorUrl: null,
});
